# A room is a folder that builds one library or one process from all its
# .c files. main.c is a process's alone; io_fake*.c belongs to tests.

add_library(sp_base INTERFACE)
target_link_libraries(sp_base INTERFACE sp_warnings sp_hardening sp_sanitizers)
target_include_directories(sp_base INTERFACE ${CMAKE_SOURCE_DIR}
	${CMAKE_BINARY_DIR})
target_compile_options(sp_base INTERFACE
	-include ${CMAKE_SOURCE_DIR}/common/banned.h)
target_compile_definitions(sp_base INTERFACE _GNU_SOURCE
	SP_VERSION="${PROJECT_VERSION}")

# room_library(NAME [LIBS lib...]): every .c of this folder but main.c.
function(room_library name)
	cmake_parse_arguments(arg "" "" "LIBS;EXCLUDE" ${ARGN})
	file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
	list(FILTER sources EXCLUDE REGEX "/main\\.c$")
	foreach(pattern IN LISTS arg_EXCLUDE)
		list(FILTER sources EXCLUDE REGEX "${pattern}")
	endforeach()
	if(NOT sources)
		add_library(${name} INTERFACE)
		target_link_libraries(${name} INTERFACE sp_base ${arg_LIBS})
		return()
	endif()
	add_library(${name} STATIC ${sources})
	target_link_libraries(${name} PUBLIC sp_base ${arg_LIBS})
endfunction()

# room_process(NAME [ONLY_DIGESTS] [ARCHIVES] [LIBS lib...]): the executable
# sallyport-NAME from main.c, on the room's library sp_NAME when it has other
# files. ONLY_DIGESTS: of libcrypto it has what common/digest.c takes, linked
# in (30 KB); the shared one costs each process 0.6 MB, and 1 ms to start.
# ARCHIVES: it starts often (cmake/Archives.cmake).
function(room_process name)
	cmake_parse_arguments(arg "ONLY_DIGESTS;ARCHIVES" "" "LIBS" ${ARGN})
	room_library(sp_${name} LIBS ${arg_LIBS})
	if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/main.c)
		return()
	endif()
	add_executable(sallyport-${name} main.c)
	target_link_libraries(sallyport-${name} PRIVATE sp_${name} sp_io_real)
	target_link_options(sallyport-${name} PRIVATE ${SP_PIE})
	set_target_properties(sallyport-${name} PROPERTIES
		SP_ONLY_DIGESTS "${arg_ONLY_DIGESTS}"
		SP_ARCHIVES "${arg_ARCHIVES}"
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/sallyport)
	# The command looks for ../libexec/sallyport, wherever it is.
	install(TARGETS sallyport-${name} DESTINATION libexec/sallyport)
endfunction()
