# Hardening that every build has; FORTIFY needs an optimising one. Variables
# without a value are zero in what is shipped; a build that is only tested
# fills them with what is no pointer, no length and no truth, so that whoever
# relies on zero is found.
add_library(sp_hardening INTERFACE)
target_compile_options(sp_hardening INTERFACE
	-fstack-protector-strong -fstack-clash-protection
	-fzero-call-used-regs=used-gpr
	-fno-common -fno-strict-aliasing)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
	target_compile_options(sp_hardening INTERFACE -fcf-protection=full)
	# `rep stos` takes some 30 ns to begin, and structs of some hundred
	# bytes are zeroed all the time: 16 bytes at a time are faster.
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		target_compile_options(sp_hardening INTERFACE
			-mmemset-strategy=vector_loop:1024:noalign,libcall:-1:noalign)
	endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
	target_compile_options(sp_hardening INTERFACE
		-mbranch-protection=standard)
endif()
if(SALLYPORT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL Debug)
	target_compile_options(sp_hardening INTERFACE
		-ftrivial-auto-var-init=pattern)
else()
	target_compile_options(sp_hardening INTERFACE
		-ftrivial-auto-var-init=zero
		-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
target_link_options(sp_hardening INTERFACE
	-Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code -Wl,--as-needed)
# Assertions are part of the program: they are never compiled out.
foreach(type IN ITEMS RELEASE RELWITHDEBINFO MINSIZEREL)
	string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${type}
		"${CMAKE_C_FLAGS_${type}}")
endforeach()
# What a program does not use is neither in it nor, as a library, loaded by it:
# of the linkers only lld asks --as-needed of what --gc-sections left. What an
# archive gave it is its own: no library that it loads finds that.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -ffunction-sections -fdata-sections")
set(CMAKE_EXE_LINKER_FLAGS_RELEASE "-Wl,--gc-sections,--exclude-libs,ALL")
