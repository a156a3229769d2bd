# The sanitized flavour: AddressSanitizer and UBSan, and no confinement,
# since the sanitizers need calls that no process of ours is allowed.
add_library(sp_sanitizers INTERFACE)
if(SALLYPORT_SANITIZE)
	set(flags -fsanitize=address,undefined -fno-sanitize-recover=all
		-fno-omit-frame-pointer)
	# Reports name functions and lines; more takes long to link.
	target_compile_options(sp_sanitizers INTERFACE ${flags} -O1 -g1)
	target_link_options(sp_sanitizers INTERFACE ${flags})
	if(CMAKE_C_COMPILER_ID STREQUAL GNU)
		# As clang does by itself: thousands of short processes need
		# not relocate a shared one each.
		target_link_options(sp_sanitizers INTERFACE
			-static-libasan -static-libubsan)
		# Nor the addresses of what describes each variable to ASan:
		# 100,000 of them, 2.8 MB, for an edge, at each start.
		set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
		set(SP_PIE)
		target_compile_options(sp_sanitizers INTERFACE -fno-pie)
		target_link_options(sp_sanitizers INTERFACE -no-pie)
	endif()
	target_compile_definitions(sp_sanitizers INTERFACE SP_UNCONFINED=1)
	if(SALLYPORT_FUZZ)
		target_compile_options(sp_sanitizers INTERFACE
			-fsanitize=fuzzer-no-link)
	endif()
endif()
