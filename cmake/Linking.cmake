# Some 300 programs are linked for the tests, most with the same libraries:
# lld takes a third of the time that GNU ld takes, and an archive that only
# names its objects is no copy of them.
find_program(LLD ld.lld REQUIRED)
string(APPEND CMAKE_EXE_LINKER_FLAGS " -fuse-ld=lld")
set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> qcsT <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_C_ARCHIVE_APPEND "<CMAKE_AR> qsT <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "")
