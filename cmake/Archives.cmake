# Programs that start often (SP_ARCHIVES, cmake/Rooms.cmake) take what they use
# of small libraries out of their archives: each shared one costs a start some
# 0.1 ms of CPU, and a process its pages. Libraries that not all releases have
# an archive of stay shared there; so does OpenSSL, which processes share and
# which the system mends without us. Debugging builds link faster without.

# archive_of(TARGET ARCHIVE...): instead of TARGET's shared library these, if
# all of them are there.
function(archive_of target)
	set(archives)
	foreach(name IN LISTS ARGN)
		string(MAKE_C_IDENTIFIER "ARCHIVE_${name}" found)
		find_library(${found} NAMES ${name})
		mark_as_advanced(${found})
		if(NOT ${found})
			message(STATUS "no ${name}: ${target} stays shared")
			return()
		endif()
		list(APPEND archives ${${found}})
	endforeach()
	set(is_wanted $<BOOL:$<TARGET_PROPERTY:SP_ARCHIVES>>)
	get_target_property(shared ${target} INTERFACE_LINK_LIBRARIES)
	set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES
		"$<IF:${is_wanted},${archives},${shared}>")
endfunction()

if(CMAKE_BUILD_TYPE STREQUAL Release OR SALLYPORT_SANITIZE)
	archive_of(PkgConfig::event libevent.a)
	archive_of(PkgConfig::fyaml libfyaml.a)
	archive_of(PkgConfig::jansson libjansson.a)
	archive_of(PkgConfig::seccomp libseccomp.a)
	archive_of(PkgConfig::cap-ng libcap-ng.a)
	archive_of(PkgConfig::nftnl libnftnl.a)
	archive_of(PkgConfig::mnl libmnl.a)
	archive_of(PkgConfig::psl libpsl.a libidn2.a libunistring.a)
	archive_of(PkgConfig::idn2 libidn2.a libunistring.a)
	archive_of(PkgConfig::pcre2-8 libpcre2-8.a)
	archive_of(PkgConfig::brotlidec libbrotlidec.a libbrotlicommon.a)
	archive_of(PkgConfig::zstd libzstd.a)
	archive_of(PkgConfig::nghttp2 libnghttp2.a)
endif()
