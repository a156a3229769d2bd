# The warnings every target of ours is built with, as errors.
add_library(sp_warnings INTERFACE)
target_compile_options(sp_warnings INTERFACE
	-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes
	-Wmissing-prototypes -Wold-style-definition -Wpointer-arith
	-Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2
	-Wimplicit-fallthrough -Wswitch-enum -Wdouble-promotion
	-Wnull-dereference -Wredundant-decls -Wnested-externs)
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
	target_compile_options(sp_warnings INTERFACE
		-Wduplicated-cond -Wduplicated-branches -Wlogical-op
		-Wjump-misses-init)
	if(SALLYPORT_SANITIZE)
		# The sanitizers' own branches look like null dereferences.
		target_compile_options(sp_warnings INTERFACE
			-Wno-null-dereference)
	endif()
else()
	target_compile_options(sp_warnings INTERFACE
		-Wconditional-uninitialized -Wassign-enum
		-Wcomma -Wunreachable-code-return)
endif()
