# AArch64 from another machine: the Debian package g++-aarch64-linux-gnu. Programs are linked statically, so qemu needs
# no root filesystem of the target.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)  # GoogleTest's project asks for one
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
