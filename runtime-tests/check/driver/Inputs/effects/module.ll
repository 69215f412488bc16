; Nothing is read of it here: print.sh stands for both compilers.
target triple = "nvptx64-nvidia-cuda"
