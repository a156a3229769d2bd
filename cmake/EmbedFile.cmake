# FILE -> OUT: const unsigned char NAME[] and const size_t NAME_len.
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "#include \"${HEADER}\"\n\n"
	"const unsigned char ${NAME}[] = {${bytes}};\n"
	"const size_t ${NAME}_len = sizeof(${NAME});\n")
