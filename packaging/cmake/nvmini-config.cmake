# find_package(nvmini): the targets nvmini::nvmini, the shared library if it is installed and the
# static one otherwise, and nvmini::static. Paths follow from where this file lies, below lib or
# lib/ARCHITECTURE, so that the installed tree can be moved.
get_filename_component(_nvmini_lib "${CMAKE_CURRENT_LIST_DIR}/../.." REALPATH)
foreach(_nvmini_up IN ITEMS .. ../..)
  if(EXISTS "${_nvmini_lib}/${_nvmini_up}/include/nvmini.h")
    get_filename_component(_nvmini_include "${_nvmini_lib}/${_nvmini_up}/include" ABSOLUTE)
    break()
  endif()
endforeach()

if(NOT _nvmini_include OR NOT EXISTS "${_nvmini_lib}/libnvmini.a")
  set(nvmini_FOUND FALSE)
  set(nvmini_NOT_FOUND_MESSAGE "nvmini.h or libnvmini.a is missing near ${_nvmini_lib}")
  return()
endif()

if(NOT TARGET nvmini::nvmini)
  add_library(nvmini::static STATIC IMPORTED)
  set_target_properties(nvmini::static PROPERTIES
    IMPORTED_LOCATION "${_nvmini_lib}/libnvmini.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_nvmini_include}")
  if(EXISTS "${_nvmini_lib}/libnvmini.so")
    add_library(nvmini::nvmini SHARED IMPORTED)
    set_target_properties(nvmini::nvmini PROPERTIES
      IMPORTED_LOCATION "${_nvmini_lib}/libnvmini.so"
      IMPORTED_SONAME libnvmini.so.0
      INTERFACE_INCLUDE_DIRECTORIES "${_nvmini_include}")
  else()
    add_library(nvmini::nvmini INTERFACE IMPORTED)
    set_target_properties(nvmini::nvmini PROPERTIES INTERFACE_LINK_LIBRARIES nvmini::static)
  endif()
endif()
unset(_nvmini_lib)
unset(_nvmini_up)
unset(_nvmini_include)
