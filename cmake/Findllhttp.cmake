# Find llhttp: the target llhttp::llhttp.
#
# Debian 13 and Ubuntu 24.04 have libllhttp-dev. Debian 12 has only the C
# sources inside node-llhttp; they are built here, in strict mode: loose
# mode is Debian's default and accepts messages that must be refused.

set(llhttp_source_dir /usr/share/llhttp)
find_path(llhttp_INCLUDE_DIR llhttp.h
	PATHS /usr/include /usr/share/include/llhttp)
find_library(llhttp_LIBRARY llhttp)

include(FindPackageHandleStandardArgs)
if(llhttp_LIBRARY)
	find_package_handle_standard_args(llhttp
		REQUIRED_VARS llhttp_LIBRARY llhttp_INCLUDE_DIR)
	add_library(llhttp::llhttp UNKNOWN IMPORTED)
	set_target_properties(llhttp::llhttp PROPERTIES
		IMPORTED_LOCATION ${llhttp_LIBRARY}
		INTERFACE_INCLUDE_DIRECTORIES ${llhttp_INCLUDE_DIR})
else()
	find_file(llhttp_SOURCE llhttp.c PATHS ${llhttp_source_dir}
		NO_DEFAULT_PATH)
	find_package_handle_standard_args(llhttp
		REQUIRED_VARS llhttp_SOURCE llhttp_INCLUDE_DIR
		REASON_FAILURE_MESSAGE "run deploy/deps.sh")
	add_library(sp_llhttp STATIC ${llhttp_source_dir}/llhttp.c
		${llhttp_source_dir}/api.c ${llhttp_source_dir}/http.c)
	target_include_directories(sp_llhttp SYSTEM PUBLIC
		${llhttp_INCLUDE_DIR})
	target_compile_definitions(sp_llhttp PUBLIC LLHTTP_STRICT_MODE=1)
	target_compile_options(sp_llhttp PRIVATE -w)
	target_link_libraries(sp_llhttp PRIVATE sp_hardening sp_sanitizers)
	add_library(llhttp::llhttp ALIAS sp_llhttp)
endif()
