# nvmini's build, for GNU make 4. `make help` lists what one can do.
#
# All outputs are under build/. Generated sources are in build/gen, shared by all variants; each
# variant has its own folder of objects and programs: build/ itself for the default variant, and
# build/release, build/checking, build/asan, build/tsan, build/fuzz (make VARIANT=asan), and
# build/wasm-objects, from which `make wasm` makes build/wasm.

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
# Use all processors, unless the command line or a parent make says how many.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif

VERSION := 0.1.0
VARIANT ?= default
WERROR ?= 1
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CFLAGS ?=
LDFLAGS ?=
ifneq ($(filter default undefined,$(origin CC)),)
CC := $(shell command -v cc || command -v gcc || command -v clang || echo cc)
endif
AR ?= ar
NM ?= nm
OBJCOPY ?= objcopy
RE2C ?= re2c
BISON ?= bison
PYTHON ?= python3

# `make V=1` shows the whole commands.
Q := $(if $(V),,@)

# ---- Variants -----------------------------------------------------------------------------------

SANITIZE := -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all
FLAGS_default := -O1 -DNDEBUG
FLAGS_release := -O3 -DNDEBUG
# The command starts in half the time without the 15,000 relocations of its tables, and runs 1 % faster.
LINK_release := -no-pie -fno-pic
FLAGS_checking := -O1 -g -DNVM_HOSTILE -DNVM_CHECKING
# Adding 0 to a null pointer, which clang reports as pointer-overflow, is what empty arrays do;
# harmless on every machine, and allowed by the next C standard.
FLAGS_asan := $(SANITIZE) -DNVM_CHECKING -fsanitize=address,undefined -fno-sanitize=pointer-overflow
FLAGS_tsan := $(SANITIZE) -DNVM_CHECKING -fsanitize=thread
FLAGS_fuzz = $(FLAGS_asan) $(FUZZ_INSTRUMENT)
FLAGS_afl := $(SANITIZE) -DNVM_CHECKING
FLAGS_wasm := -Os -DNDEBUG
FLAGS_coverage := -O1 -DNDEBUG -fprofile-instr-generate -fcoverage-mapping
ifeq ($(filter $(VARIANT),default release checking asan tsan fuzz afl wasm coverage),)
$(error VARIANT is one of default, release, checking, asan, tsan, fuzz, afl, wasm, coverage; not '$(VARIANT)')
endif

# Of generators: what they write does not depend on the variant.
HOST_CC := $(CC)

ifeq ($(VARIANT),fuzz)
# A clang with libFuzzer if there is one, else $(CC) with the runner of runtime-tests/fuzz/main.c.
FUZZ_CLANG := $(shell tools/find-libfuzzer.sh)
FUZZ_INSTRUMENT := $(if $(FUZZ_CLANG),-fsanitize=fuzzer-no-link)
FUZZ_ENGINE := $(if $(FUZZ_CLANG),-fsanitize=fuzzer)
ifneq ($(FUZZ_CLANG),)
override CC := $(FUZZ_CLANG)
endif
endif
# The same targets for AFL++, which measures coverage by its own compiler; AFL_USE_ASAN=1 and the
# like are read by it.
ifeq ($(VARIANT),afl)
override CC := afl-clang-fast
FUZZ_ENGINE := -fsanitize=fuzzer
endif

# WebAssembly, for `make wasm` alone.
ifeq ($(VARIANT),wasm)
override CC := emcc
override AR := emar
endif
# Counters of clang's for lines, and one for each peephole rule (make fuzz-coverage).
ifeq ($(VARIANT),coverage)
override CC := $(or $(shell tools/find-llvm.sh clang),clang)
endif

# Link-time optimization of the release command, where the compiler is gcc: 8 % less run time for
# twice the build time. Its objects also hold ordinary code, for the libraries. `make release LTO=`
# builds without.
ifeq ($(origin LTO)-$(VARIANT),undefined-release)
LTO := $(shell printf '\043ifdef __clang__\n\043error\n\043endif\nint main(void) { return 0; }' | \
  $(CC) -flto=auto -ffat-lto-objects -x c - -o /dev/null 2>/dev/null && echo 1)
endif
LTO_OBJECT := $(if $(LTO),-flto=auto -ffat-lto-objects)
LTO_LINK := $(if $(LTO),-flto=auto)
NO_LTO := $(if $(LTO),-fno-lto)

G := build/gen
B := $(if $(filter default,$(VARIANT)),build,build/$(VARIANT:wasm=wasm-objects))

NVM_CPPFLAGS := -D_POSIX_C_SOURCE=200809L -I. -Iinclude -I$G
NVM_WARNINGS := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
NVM_CFLAGS = -std=c11 $(NVM_CPPFLAGS) $(NVM_WARNINGS) $(FLAGS_$(VARIANT)) $(if $(filter wasm,$(VARIANT)),,-fPIC) -fvisibility=hidden \
  -ffunction-sections -fdata-sections $(CFLAGS)
# What bison and re2c write is theirs: their style is not our warnings' business.
GENERATED_CFLAGS := -Wno-switch-enum -Wno-unused -Wno-sign-compare -Wno-implicit-fallthrough

# ---- Sources ------------------------------------------------------------------------------------

LIBRARY_FOLDERS := support ir target analysis frontend frontend/bitcode mathlib ptx \
  opt opt/scalar opt/memory opt/cfg opt/loop opt/interprocedural opt/gpu opt/vectorize codegen sim sim/machine sim/ptx sim/ir api
LIBRARY_SOURCES := $(foreach d,$(LIBRARY_FOLDERS),$(wildcard $d/*.c))
DRIVER_SOURCES := $(filter-out driver/serve/wasm.c,$(wildcard driver/*.c driver/*/*.c))
COMPAT_SOURCES := $(wildcard compat/*.c)
ifeq ($(VARIANT),coverage)
LIBRARY_SOURCES += runtime-tests/fuzz/count_rules.c
endif

# ---- Generators: NAME folder table, then the files they write into build/gen ---------------------
# tools/gen/gen_NAME*.c, with what generators share, become build/gen/bin/gen_NAME and runs as
# `gen_NAME TABLE build/gen`, or, where it knows requirements by name, `gen_NAME TABLE NAMES build/gen`.

GENERATORS := target intrinsics ptx combine mathlib explain reference course serve
GENERATOR_target := tools/gen/gen_target.c target/nvptx.def
GENERATES_target := nvptx_tables.h nvptx_tables.inc
GENERATOR_intrinsics := tools/gen/gen_intrinsics.c ir/intrinsics.def target/nvptx.def
GENERATES_intrinsics := intrinsics.h intrinsics.inc
GENERATOR_ptx := tools/gen/gen_ptx.c ptx/ops.def target/nvptx.def
GENERATES_ptx := ptx_ops.h ptx_ops.inc
GENERATOR_combine := tools/gen/gen_combine.c opt/scalar/combine.rules
GENERATES_combine := combine.inc
GENERATOR_mathlib := tools/gen/gen_mathlib.c mathlib/functions.txt $(sort $(wildcard mathlib/*.nvir))
GENERATES_mathlib := mathlib.inc
# The scripts of the page are one script, in this order.
EXPLAIN_SCRIPTS := base text diff lines trace about card passes layout flow code plans costs remarks live registers run main
GENERATOR_explain := tools/gen/gen_explain.c $(wildcard $(addprefix driver/explain/,page.html page.css $(addsuffix .js,$(EXPLAIN_SCRIPTS))))
GENERATES_explain := explain_page.inc
GENERATOR_reference := tools/gen/gen_reference.c $(sort $(wildcard driver/reference/*.txt)) ptx/ops.def
GENERATES_reference := reference.inc
GENERATOR_course := tools/gen/gen_course.c $(sort $(wildcard driver/course/*.nvir))
GENERATES_course := course.inc
GENERATOR_serve := tools/gen/gen_serve.c driver/serve/page.html $(sort $(wildcard samples/*.nvir))
GENERATES_serve := serve_page.inc serve_samples.inc

# A generator without its source or table is left out.
present = $(if $(word 2,$(wildcard $(GENERATOR_$1))),$1)
PRESENT_GENERATORS := $(foreach g,$(GENERATORS),$(call present,$g))
GENERATED_HEADERS := $(foreach g,$(PRESENT_GENERATORS),$(addprefix $G/,$(GENERATES_$g)))
GENERATED_SOURCES :=
ifneq ($(wildcard frontend/parser.y),)
GRAMMAR_HEADERS += $G/parser.h
GENERATED_SOURCES += $G/parser.c
endif
ifneq ($(wildcard frontend/lexer.re),)
GENERATED_SOURCES += $G/lexer.c
endif
ifneq ($(wildcard ptx/ptx_parser.y),)
GRAMMAR_HEADERS += $G/ptx_parser.h
GENERATED_SOURCES += $G/ptx_parser.c
endif
ifneq ($(wildcard ptx/ptx_lexer.re),)
GENERATED_SOURCES += $G/ptx_lexer.c
endif

LIBRARY_OBJECTS := $(LIBRARY_SOURCES:%.c=$B/obj/%.o) $(GENERATED_SOURCES:$G/%.c=$B/obj/gen/%.o)
DRIVER_OBJECTS := $(DRIVER_SOURCES:%.c=$B/obj/%.o)
COMPAT_OBJECTS := $(COMPAT_SOURCES:%.c=$B/obj/%.o)

# ---- What one can ask for -----------------------------------------------------------------------

.PHONY: all release lines help setup demo check check-gpu check-peers check-programs check-random check-c-tests check-kernels check-effects prove bench bench-compile passes-page lint format install uninstall clean \
  fuzz unit generated update-golden docs
all: $(if $(DRIVER_SOURCES),$B/nvmini) $B/libnvmini.a $B/libnvmini.so $B/compat/libnvvm.so.4

release:
	@$(MAKE) --no-print-directory VARIANT=release all

help:
	@echo 'make                build/nvmini, build/libnvmini.a, build/libnvmini.so, build/compat/libnvvm.so.4, quickly'
	@echo 'make release        the same in build/release, optimized for speed: for packages and benchmarks'
	@echo 'make demo           install what is missing, build, show a kernel become PTX, execute it'
	@echo 'make check CHECK_ARGUMENTS=FILE   one text test or folder; CHECK_ARGUMENTS=unit one step'
	@echo 'make check          install what the tests need, build, run them; ends with N passed, N failed'
	@echo 'make check-gpu      run the executed tests on a GPU too, and compare; CPU=sm_80'
	@echo 'make check-peers    compare with other compilers where installed; MODULES=folder of .ll files'
	@echo 'make prove          prove the peephole rules with Z3; EXPRESSIONS=20000 executed; trip counts,'
	@echo '                    known bits, ranges and conditions on all small integers, of which check takes a part;'
	@echo '                    functions of one float for all arguments'
	@echo 'make prove-loops    execute loops with counters of 8 to 64 bits in many ways; LOOPS_ARGUMENTS=--modules=900'
	@echo 'make prove-passes   validate passes on generated functions with Z3; ARGS="--count 1000 --seed 1"'
	@echo 'make check-programs whole CUDA programs in the simulator; SOURCES=folder of public suites'
	@echo 'make check-random   random programs of Csmith, YARPGen and llvm-stress, executed; COUNT=200 SEED=1'
	@echo 'make check-c-tests  test programs in C, executed by one thread; SOURCES=folder of public suites'
	@echo 'make check-kernels  every kernel of real modules, levels compared bit by bit; MODULES=folder of .ll files'
	@echo 'make check-effects  stores, barriers, atomics that clang keeps and we lose; MODULES=folder of .ll files'
	@echo 'make bench          speed and memory beside llvm-as and llc; MODULES=folder of .ll files'
	@echo 'make bench-compile  IR to PTX beside clang -O3, and how time grows with size; MODULES=folder'
	@echo 'make bench-gpu      kernels on a GPU in the code of four compilers; FOLDER=where to keep it, SOURCES=folder'
	@echo 'make bench-executed  instructions that kernels of real modules execute, beside clang -O3; MODULES=folder'
	@echo 'make bench-missed    what passes of LLVM still simplify in our optimized IR; MODULES=folder'
	@echo 'make fuzz-diff      execute random kernels in many ways and compare; N=500 SEED=0 HOST=3'
	@echo 'make fuzz-cuda      execute random CUDA kernels through clang in many ways; N=500 SEED=0'
	@echo 'make fuzz-coverage  passes, peephole rules, lowering cases, recipes, diagnostics that generated programs reach; SCALE=4'
	@echo 'make bench-vectorize  serial loops beside clang and nvcc, executed in the simulator'
	@echo 'make passes-page    docs/passes.md: cost and gain of each pass; MODULES=folder'
	@echo 'make fuzz           fuzz the parser and the compiler; SECONDS_EACH=60'
	@echo 'make lint           layers, writable globals, exports, names, circles, lengths, columns, prototypes'
	@echo 'make lines          lines of each folder, and of the core'
	@echo 'make format         clang-format over the sources that git says are changed'
	@echo 'make wasm           build/wasm: `nvmini serve` as static files, without a server (needs emscripten)'
	@echo 'make install        into PREFIX ($(PREFIX)) and LIBDIR, below DESTDIR if set; also: uninstall'
	@echo 'make dist           build/$(DIST).tar.gz: the sources of the last commit, always the same bytes'
	@echo 'make docs           the reference pages that are made from tables, into build/docs'
	@echo 'make update-golden  write what commands print now into README.md and docs/vectorizer.md'
	@echo 'make clean          remove build/'
	@echo
	@echo 'Variables: VARIANT=default|release|checking|asan|tsan|fuzz|afl|coverage (build/, build/VARIANT), CC=gcc|clang,'
	@echo '           WERROR=0 (warnings do not stop the build), LTO= (release without link-time optimization),'
	@echo '           CFLAGS, LDFLAGS (appended)'

setup:
	@tools/setup.sh build

# ---- Generated sources --------------------------------------------------------------------------

$G $G/bin:
	@mkdir -p $@

GENERATOR_FLAGS := -std=c11 -O1 -D_POSIX_C_SOURCE=200809L -I. -Wall -Wextra

define generator_rules
$G/bin/gen_$1: $(wildcard $(patsubst %.c,%*.c,$(word 1,$(GENERATOR_$1)))) target/requirement.c tools/gen/gen_table.c | $G/bin
	@echo '  GEN $$@'
	$$(Q)$$(HOST_CC) $$(GENERATOR_FLAGS) -MMD -MP -MF $$@.d -o $$@ $$(filter %.c,$$^)
$G/$1.stamp: $G/bin/gen_$1 $(wordlist 2,99,$(GENERATOR_$1))
	@echo '  RUN gen_$1'
	$$(Q)$G/bin/gen_$1 $(wordlist 2,99,$(GENERATOR_$1)) $G
	@touch $$@
$(addprefix $G/,$(GENERATES_$1)): $G/$1.stamp
	@test -f $$@ || { rm -f $$<; echo "gen_$1 did not write $$@"; exit 1; }
endef
$(foreach g,$(PRESENT_GENERATORS),$(eval $(call generator_rules,$g)))
$G/mathlib.stamp: mathlib # whose time says that a file was added or removed

need = @command -v $1 >/dev/null 2>&1 || \
  { echo 'nvmini: $1 is needed to build and is not installed; `make setup` installs it' >&2; exit 1; }

define grammar_rules
$G/$2.c: $1/$2.y | $G
	$$(call need,$$(BISON))
	@echo '  BISON $$<'
	$$(Q)$$(BISON) -Wall -Werror --defines=$G/$2.h --output=$$@ $$<
$G/$2.h: $G/$2.c
	@test -f $$@ || { rm -f $$<; echo "$$(BISON) did not write $$@"; exit 1; }
$G/$3.c: $1/$3.re | $G
	$$(call need,$$(RE2C))
	@echo '  RE2C $$<'
	$$(Q)$$(RE2C) -W --no-generation-date --no-debug-info -b -o $$@ $$<
endef
$(eval $(call grammar_rules,frontend,parser,lexer))
$(eval $(call grammar_rules,ptx,ptx_parser,ptx_lexer))

# The sum of the sources, for cache keys. It changes only if they do.
IDENTITY_SOURCES := Makefile $(sort $(foreach d,$(LIBRARY_FOLDERS) driver driver/reduce driver/fuzz driver/explain driver/cost driver/reference driver/course driver/lsp driver/serve include tools/gen,$(wildcard $d/*.*)))
$G/bin/gen_identity: tools/gen/gen_identity.c driver/sha256.c driver/sha256.h | $G/bin
	@echo '  GEN $@'
	$(Q)$(HOST_CC) $(GENERATOR_FLAGS) -o $@ $<
$G/identity.h: $G/bin/gen_identity FORCE
	$(Q)$G/bin/gen_identity $(IDENTITY_SOURCES) > $@.new && { cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }
$B/obj/driver/cache_key.o: $G/identity.h

generated: $(GENERATED_HEADERS) $(GRAMMAR_HEADERS) $(GENERATED_SOURCES)

# ---- Objects, libraries, the command ------------------------------------------------------------

# Objects and the command are made again when the flags change.
$B/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(NVM_CFLAGS) $(LTO_OBJECT) $(LINK_$(VARIANT)) $(VERSION)' | cmp -s - $@ || \
	  echo '$(CC) $(NVM_CFLAGS) $(LTO_OBJECT) $(LINK_$(VARIANT)) $(VERSION)' > $@
.PHONY: FORCE
FORCE:

$B/obj/%.o: %.c $B/flags | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	@echo '  CC $<'
	$(Q)$(CC) $(NVM_CFLAGS) $(LTO_OBJECT) $(OBJECT_CFLAGS) -MMD -MP -c -o $@ $<
$B/obj/gen/%.o: $G/%.c $B/flags | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	@echo '  CC $<'
	$(Q)$(CC) $(NVM_CFLAGS) $(LTO_OBJECT) $(GENERATED_CFLAGS) -MMD -MP -c -o $@ $<
# Only these read what bison writes.
$(filter $B/obj/frontend/% $B/obj/ptx/% $B/obj/gen/%,$(LIBRARY_OBJECTS)) $B/obj/driver/lsp/index.o $B/obj/driver/lsp/format.o: | $(GRAMMAR_HEADERS)
# The interpreter of peephole rules, with a call where a rule is done.
build/coverage/combine_rules.c: opt/scalar/combine_rules.c
	@mkdir -p $(@D)
	$(Q)grep -q 'return m->made\[0\];' $<
	$(Q)(echo 'void count_rules(unsigned long);'; echo '#line 1 "$<"'; \
	  sed 's/return m->made\[0\];/{ count_rules((unsigned long)(at - rule_words)); return m->made[0]; }/' $<) > $@
build/coverage/obj/opt/scalar/combine_rules.o: build/coverage/combine_rules.c $B/flags | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	@echo '  CC $<'
	$(Q)$(CC) $(NVM_CFLAGS) -MMD -MP -c -o $@ $<
$B/obj/api/%.o $B/obj/driver/%.o: OBJECT_CFLAGS = -DNVMINI_VERSION='"$(VERSION)"'

# Every object with every symbol: what the tests link.
$B/libinternal.a: $(LIBRARY_OBJECTS)
	@echo '  AR $@'
	$(Q)$(AR) rcs $@.$$$$ $^ $(if $(LTO),&& $(OBJCOPY) --remove-section='.gnu.lto_*' $@.$$$$) && mv $@.$$$$ $@

$B/nvmini: $(DRIVER_OBJECTS) $(LIBRARY_OBJECTS)
	@echo '  LINK $@'
	$(Q)$(CC) $(NVM_CFLAGS) $(LTO_LINK) $(LINK_$(VARIANT)) -o $@ $^ $(LDFLAGS) -Wl,--gc-sections

# One object in which all but nvmini_* is local, so that a program can link it beside anything.
$B/libnvmini.a: $(LIBRARY_OBJECTS)
	@echo '  AR $@'
	$(Q)$(CC) $(NO_LTO) -r -nostdlib -o $B/obj/libnvmini.o $^
	$(Q)$(OBJCOPY) --localize-hidden --remove-section='.gnu.lto_*' $B/obj/libnvmini.o
	$(Q)$(AR) rcs $@.$$$$ $B/obj/libnvmini.o && mv $@.$$$$ $@

$B/libnvmini.so: $(LIBRARY_OBJECTS)
	@echo '  LINK $@'
	$(Q)$(CC) $(NVM_CFLAGS) $(NO_LTO) -shared -Wl,-soname,libnvmini.so.0 -Wl,--gc-sections -o $@ $^ $(LDFLAGS)

# libNVVM's interface: complete in itself, so that it can be preloaded.
$B/compat/libnvvm.so.4: $(COMPAT_OBJECTS) $(LIBRARY_OBJECTS) compat/nvvm.map
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(Q)$(CC) $(NVM_CFLAGS) $(NO_LTO) -shared -Wl,-soname,libnvvm.so.4 -Wl,--version-script=compat/nvvm.map \
	  -Wl,--gc-sections -o $@ $(filter %.o,$^) $(LDFLAGS)
	@ln -sf libnvvm.so.4 $(@D)/libnvvm.so

# ---- The playground as static files: `make wasm` ------------------------------------------------

# The commands that a request can have, with all they need: no sockets, no processes.
WASM_SOURCES := $(filter-out driver/main.c driver/bisect.c,$(wildcard driver/*.c)) \
  $(wildcard driver/explain/*.c driver/cost/*.c driver/reference/*.c) $(addprefix driver/serve/,request.c choices.c wasm.c)
WASM_FLAGS := -sMODULARIZE -sEXPORT_NAME=createNvmini -sENVIRONMENT=worker -sINVOKE_RUN=0 -sEXIT_RUNTIME=1 -sEXPORTED_RUNTIME_METHODS=callMain \
  -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=33554432 -sMAXIMUM_MEMORY=536870912 -sTOTAL_STACK=4194304
build/wasm-objects/nvmini.js: $(WASM_SOURCES:%.c=build/wasm-objects/obj/%.o) $(patsubst $B/%,build/wasm-objects/%,$(LIBRARY_OBJECTS))
	@echo '  LINK $@'
	$(Q)emcc $(FLAGS_wasm) $(WASM_FLAGS) -o $@ $(filter %.o,$^)

wasm: generated
	+@MAKE='$(MAKE)' $(PYTHON) tools/wasm.py
.PHONY: wasm

# ---- Tests --------------------------------------------------------------------------------------

UNIT_SOURCES := $(wildcard runtime-tests/unit/test_*.c)
UNIT_PROGRAMS := $(UNIT_SOURCES:runtime-tests/unit/%.c=$B/unit/%)
UNIT_HELPERS := $(filter-out $(UNIT_SOURCES),$(wildcard runtime-tests/unit/*.c))
# What test_mpfr needs where MPFR is installed.
MPFR = $(shell printf '\043include <mpfr.h>\nint main(void) { return mpfr_get_version() == 0; }' | \
  $(CC) -x c - -lmpfr -lgmp -o /dev/null 2>/dev/null && echo -DHAVE_MPFR -lmpfr -lgmp)
unit: $(UNIT_PROGRAMS)
$B/unit/%: runtime-tests/unit/%.c $(UNIT_HELPERS) $B/libinternal.a
	@mkdir -p $(@D)
	@echo '  UNIT $@'
	$(Q)$(CC) $(NVM_CFLAGS) -UNDEBUG -Wno-switch-enum -MMD -MP -MF $@.d -MT $@ -o $@ $< $(UNIT_HELPERS) \
	  $(if $(findstring nvvm,$*),$(COMPAT_OBJECTS)) $B/libinternal.a $(LDFLAGS) $(if $(findstring mpfr,$*),$(MPFR)) -lcmocka -lpthread -lm
$B/unit/test_libnvvm: $(COMPAT_OBJECTS)
$B/unit/test_libnvvm: LDFLAGS += -Wl,--wrap=realloc

# The examples of embedding, against each public library alone.
EMBED_PROGRAMS := $B/embed-static $B/embed-shared $B/embed_run-static $B/embed_run-shared
embed: $(EMBED_PROGRAMS)
.PHONY: embed
$B/%-static: samples/%.c $B/libnvmini.a include/nvmini.h
	$(Q)$(CC) -std=c11 -Wall -Wextra $(FLAGS_$(VARIANT)) -Iinclude -o $@ $< $B/libnvmini.a $(LDFLAGS)
$B/%-shared: samples/%.c $B/libnvmini.so include/nvmini.h
	@ln -sf libnvmini.so $B/libnvmini.so.0
	$(Q)$(CC) -std=c11 -Wall -Wextra $(FLAGS_$(VARIANT)) -Iinclude -o $@ $< -L$B -lnvmini \
	  -Wl,-rpath,'$$ORIGIN' $(LDFLAGS)

FUZZ_TARGETS := $(patsubst runtime-tests/fuzz/%.c,$B/%,$(wildcard runtime-tests/fuzz/fuzz_*.c))
fuzz-programs: $(FUZZ_TARGETS)
.PHONY: fuzz-programs
# fuzz_lsp includes the server's main file; of the command it takes what that needs.
FUZZ_HEADERS := $(wildcard runtime-tests/fuzz/*.h runtime-tests/fuzz/mutate/*.def) runtime-tests/peers/kernel_arguments.c
$B/libdriver.a: $(filter-out %/main.o %/lsp/server.o,$(DRIVER_OBJECTS))
	@echo '  AR $@'
	$(Q)$(AR) rcs $@.$$$$ $^ && mv $@.$$$$ $@
$B/fuzz_api: FUZZ_OBJECTS := $(COMPAT_OBJECTS)
$B/fuzz_api: $(COMPAT_OBJECTS)
$B/fuzz_lsp: FUZZ_OBJECTS := $B/libdriver.a
$B/fuzz_lsp: $B/libdriver.a
# The mutator of IR: linked into the targets that read text, a library for AFL++, a command.
MUTATE_OBJECTS := $(patsubst %.c,$B/obj/%.o,$(filter-out %/main.c,$(wildcard runtime-tests/fuzz/mutate/*.c)))
TEXT_TARGETS := $(addprefix $B/fuzz_,parse compile passes run)
$(TEXT_TARGETS): FUZZ_OBJECTS := $(MUTATE_OBJECTS)
$(TEXT_TARGETS): $(MUTATE_OBJECTS)
fuzz-programs: $B/mutate $B/nvir_mutator.so
$B/mutate: runtime-tests/fuzz/mutate/main.c $(MUTATE_OBJECTS) $B/libreader.a
	@echo '  LINK $@'
	$(Q)$(CC) $(NVM_CFLAGS) -o $@ $^ $(LDFLAGS)
$B/nvir_mutator.so: $(MUTATE_OBJECTS) $B/libreader.a
	@echo '  LINK $@'
	$(Q)$(CC) $(NVM_CFLAGS) -shared -o $@ $^ $(LDFLAGS)
# fuzz_parse and the mutator take the reader alone, which builds in a third of the time.
READER_OBJECTS := $(filter-out $B/obj/gen/ptx_% $B/obj/api/compile.o $B/obj/api/machine.o, \
  $(filter $(patsubst %,$B/obj/%/%,support ir target frontend api gen),$(LIBRARY_OBJECTS)))
$B/libreader.a: $(READER_OBJECTS)
	@echo '  AR $@'
	$(Q)$(AR) rcs $@.$$$$ $^ && mv $@.$$$$ $@
$B/fuzz_parse: $B/libreader.a
$(filter-out %/fuzz_parse,$(FUZZ_TARGETS)): $B/libinternal.a
$B/fuzz_%: runtime-tests/fuzz/fuzz_%.c runtime-tests/fuzz/main.c $(FUZZ_HEADERS)
	@echo '  LINK $@'
	$(Q)$(CC) $(NVM_CFLAGS) $(FUZZ_ENGINE) -o $@ $< $(if $(FUZZ_ENGINE),,runtime-tests/fuzz/main.c) \
	  $(FUZZ_OBJECTS) $(or $(filter %/libreader.a,$^),$B/libinternal.a) $(LDFLAGS)

N ?= 500
SEED ?= 0
HOST ?= 3
.PHONY: fuzz-diff
fuzz-diff: all
	@$(PYTHON) runtime-tests/fuzz/diff.py --count $N --seed $(SEED) --host $(HOST) --nvmini $B/nvmini

.PHONY: fuzz-cuda
fuzz-cuda: all
	@$(PYTHON) runtime-tests/fuzz/diff_cuda.py --count $N --seed $(SEED) --nvmini $B/nvmini

.PHONY: fuzz-seeds
fuzz-seeds: all
	@runtime-tests/fuzz/seeds.sh

# What of the compiler the generators and the fuzz targets reach. SCALE=1: the smallest run.
SCALE ?= 4
.PHONY: fuzz-coverage
fuzz-coverage: all fuzz-seeds
	@$(MAKE) --no-print-directory VARIANT=coverage all fuzz-programs
	@$(PYTHON) runtime-tests/fuzz/coverage.py --scale $(SCALE) --seed $(SEED) $(if $(CORPUS),--corpus $(CORPUS)) $(COVERAGE_ARGUMENTS)

SECONDS_EACH ?= 60
fuzz:
	@tools/setup.sh build
	@$(MAKE) --no-print-directory VARIANT=fuzz fuzz-programs
	@runtime-tests/fuzz/run.sh $(SECONDS_EACH)

check:
	@tools/setup.sh check
	@CC='$(CC)' $(PYTHON) runtime-tests/run.py $(CHECK_ARGUMENTS)

# A folder of .ll modules that other compilers wrote; without one, our own samples.
MODULES ?=
check-gpu: all
	$(Q)python3 runtime-tests/exec/gpu.py $B/nvmini $(CPU)

check-peers: all
	@$(PYTHON) runtime-tests/peers/check_gates.py
	@$(PYTHON) runtime-tests/peers/check_reflect.py
	@$(PYTHON) runtime-tests/peers/check_mathlib.py
	@runtime-tests/peers/check_modules.sh $(or $(MODULES),samples) $(PEERS_ARGUMENTS)

EXPRESSIONS ?= 20000
# The types of every rule, and Z3's answers for every integer rule at several widths, from what gen_combine wrote;
# then instances of the rules and random expressions are executed. Then what analyses say of all small worlds.
# Last, the errors of mathlib/, of functions of one float for all 2^32 arguments.
SMALL_WORLDS := $(filter $B/unit/test_small_%,$(UNIT_PROGRAMS))
prove: all $(SMALL_WORLDS)
	@$(PYTHON) runtime-tests/prove/prove.py --wrong
	@$(PYTHON) runtime-tests/prove/prove.py $(PROVE_ARGUMENTS)
	@$(PYTHON) runtime-tests/prove/fire.py
	@$(PYTHON) runtime-tests/prove/expressions.py --count $(EXPRESSIONS)
	@for t in $(SMALL_WORLDS); do SMALL_WORLDS=all $$t || exit 1; done
	@$(PYTHON) runtime-tests/math/measure.py --all

# Each function before and after each pass that changed it; by what arithmetic, memory, poison and undef mean, not by execution.
.PHONY: prove-passes
prove-passes: all
	@$(PYTHON) runtime-tests/prove/execute_encoded.py --count 500
	@$(PYTHON) runtime-tests/prove/prove_passes.py --wrong
	@$(PYTHON) runtime-tests/prove/prove_passes.py --nvmini $B/nvmini $(or $(ARGS),--count 1000 --seed 1)

prove-loops: all
	@$(PYTHON) runtime-tests/fuzz/enumerate_loops.py --nvmini $B/nvmini $(or $(LOOPS_ARGUMENTS),--modules 900)

# Checkouts of public CUDA suites; the head of the script says which.
SOURCES ?=
check-programs: all $B/libinternal.a
	@$(PYTHON) runtime-tests/peers/run_programs.py $(or $(SOURCES),$(error SOURCES=FOLDER with checkouts of the suites)) $(PROGRAMS_ARGUMENTS)

# COUNT of each generator that is installed.
check-random: all
	@$(PYTHON) runtime-tests/peers/check_random.py --csmith $(or $(COUNT),200) --yarpgen $(or $(COUNT),200) --stress $(or $(COUNT),200) \
	  --seed $(or $(filter-out 0,$(SEED)),1) $(RANDOM_ARGUMENTS)

# Tests in C of GCC, LLVM and others.
check-c-tests: all
	@$(PYTHON) runtime-tests/peers/check_c_tests.py $(or $(SOURCES),$(error SOURCES=FOLDER of tests in C)) $(C_TESTS_ARGUMENTS)

# Real modules, as runtime-tests/peers/README.md says how to make them.
check-kernels: all $B/libinternal.a
	@$(PYTHON) runtime-tests/peers/check_kernels.py $(or $(MODULES),$(error MODULES=FOLDER of .ll files)) $(KERNELS_ARGUMENTS)

.PHONY: bench-gpu bench-executed bench-missed
# Three steps, so that the first can be done on another machine than the second (see bench/gpu.py).
bench-gpu: release
	@$(PYTHON) runtime-tests/bench/gpu.py prepare $(or $(FOLDER),$(error FOLDER=where to keep codes and results)) \
	  --nvmini build/release/nvmini $(if $(SOURCES),--sources $(SOURCES)) $(BENCH_ARGUMENTS)
	@$(FOLDER)/gpu_bench $(FOLDER)/plan $(FOLDER)/results
	@$(PYTHON) runtime-tests/bench/gpu.py report $(FOLDER)

bench-executed: all $B/libinternal.a
	@$(PYTHON) runtime-tests/bench/executed.py $(or $(MODULES),$(error MODULES=FOLDER of .ll files)) $(BENCH_ARGUMENTS)

bench-missed: all
	@$(PYTHON) runtime-tests/bench/missed.py $(or $(MODULES),$(error MODULES=FOLDER of .ll files)) $(BENCH_ARGUMENTS)

check-effects: all
	@$(PYTHON) runtime-tests/peers/check_effects.py $(or $(MODULES),$(error MODULES=FOLDER of .ll files)) $(EFFECTS_ARGUMENTS)

bench-compile: release
	@$(PYTHON) runtime-tests/bench/bench_compile.py $(if $(MODULES),--modules $(MODULES)) $(BENCH_ARGUMENTS)
	@$(PYTHON) runtime-tests/bench/bench_compile.py --growth $(BENCH_ARGUMENTS)

bench: release
	@$(PYTHON) runtime-tests/bench/bench.py $(if $(MODULES),--modules $(MODULES)) $(BENCH_ARGUMENTS)

bench-vectorize: release
	@$(PYTHON) runtime-tests/bench/vectorize.py $(BENCH_ARGUMENTS)

passes-page: all
	@$(PYTHON) runtime-tests/bench/passes.py $(or $(MODULES),$(error MODULES=FOLDER of .ll files)) $(BENCH_ARGUMENTS)

demo:
	@tools/setup.sh build
	@tools/progress.sh $(MAKE) --no-print-directory all
	@tools/demo.sh

# Written aside first: a page is whole or not there.
docs: all
	@mkdir -p build/docs
	$B/nvmini targets --format markdown > build/docs/targets.md.new
	@mv build/docs/targets.md.new build/docs/targets.md
	$B/nvmini help --reference build/docs/reference

lint: all
	@$(PYTHON) tools/lint.py build

lines:
	@tools/lines.sh

format:
	@tools/format.sh

update-golden: all
	@$(PYTHON) tools/readme.py --update
	@$(PYTHON) runtime-tests/document.py --update
	@git --no-pager diff --stat -- "*.md"

# ---- Installation -------------------------------------------------------------------------------

BIN := $(DESTDIR)$(PREFIX)/bin
LIB := $(DESTDIR)$(LIBDIR)
INSTALLED := $(BIN)/nvmini $(LIB)/libnvmini.a $(LIB)/libnvmini.so $(LIB)/libnvmini.so.0 \
  $(LIB)/libnvmini.so.$(VERSION) $(LIB)/pkgconfig/nvmini.pc $(DESTDIR)$(PREFIX)/include/nvmini.h \
  $(LIB)/cmake/nvmini/nvmini-config.cmake $(LIB)/cmake/nvmini/nvmini-config-version.cmake \
  $(LIB)/nvmini/libnvvm.so $(LIB)/nvmini/libnvvm.so.4 $(LIB)/pkgconfig/nvmini-nvvm.pc \
  $(DESTDIR)$(PREFIX)/include/nvmini/nvvm.h \
  $(DESTDIR)$(PREFIX)/share/man/man1/nvmini.1 \
  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/nvmini \
  $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_nvmini \
  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/nvmini.fish

FILL_IN := sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|'

install: release
	@mkdir -p $(sort $(dir $(INSTALLED)))
	install -m 755 build/release/nvmini $(BIN)/nvmini
	install -m 644 build/release/libnvmini.a $(LIB)/libnvmini.a
	install -m 755 build/release/libnvmini.so $(LIB)/libnvmini.so.$(VERSION)
	ln -sf libnvmini.so.$(VERSION) $(LIB)/libnvmini.so.0
	ln -sf libnvmini.so.0 $(LIB)/libnvmini.so
	install -m 644 include/nvmini.h $(DESTDIR)$(PREFIX)/include/nvmini.h
	$(FILL_IN) packaging/nvmini.pc.in > $(LIB)/pkgconfig/nvmini.pc
	$(FILL_IN) packaging/cmake/nvmini-config-version.cmake.in > $(LIB)/cmake/nvmini/nvmini-config-version.cmake
	install -m 644 packaging/cmake/nvmini-config.cmake $(LIB)/cmake/nvmini/nvmini-config.cmake
	install -m 755 build/release/compat/libnvvm.so.4 $(LIB)/nvmini/libnvvm.so.4
	ln -sf libnvvm.so.4 $(LIB)/nvmini/libnvvm.so
	install -m 644 compat/nvvm.h $(DESTDIR)$(PREFIX)/include/nvmini/nvvm.h
	$(FILL_IN) packaging/nvmini-nvvm.pc.in > $(LIB)/pkgconfig/nvmini-nvvm.pc
	build/release/nvmini help --man > $(DESTDIR)$(PREFIX)/share/man/man1/nvmini.1
	build/release/nvmini help --bash-completion > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/nvmini
	build/release/nvmini help --zsh-completion > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_nvmini
	build/release/nvmini help --fish-completion > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/nvmini.fish

uninstall:
	rm -f $(INSTALLED)

# ---- The source archive -------------------------------------------------------------------------

# The last commit, with its time: the same bytes wherever it is made.
DIST := nvmini-$(VERSION)
.PHONY: dist
dist:
	@git rev-parse --git-dir > /dev/null || { echo 'make dist: needs a git checkout' >&2; exit 1; }
	@git diff --quiet HEAD -- || echo 'make dist: uncommitted changes are not in the archive' >&2
	@mkdir -p build
	@git -c tar.umask=0022 archive --format=tar --prefix=$(DIST)/ HEAD > build/$(DIST).tar
	@gzip -n -9 < build/$(DIST).tar > build/$(DIST).tar.gz.new
	@mv build/$(DIST).tar.gz.new build/$(DIST).tar.gz && rm build/$(DIST).tar
	@echo build/$(DIST).tar.gz

clean:
	rm -rf build

-include $(LIBRARY_OBJECTS:.o=.d) $(MUTATE_OBJECTS:.o=.d) $(DRIVER_OBJECTS:.o=.d) $(COMPAT_OBJECTS:.o=.d) $(wildcard $B/unit/*.d $G/bin/*.d)
