# FILES -> OUT: struct preset_file presets_embedded[], as preset.h says.
set(text "#include \"policies/preset.h\"\n\n")
set(table "const struct preset_file presets_embedded[] = {\n")
foreach(file IN LISTS FILES)
	get_filename_component(name ${file} NAME_WE)
	file(READ ${file} hex HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(MAKE_C_IDENTIFIER text_${name} word)
	string(APPEND text
		"static const unsigned char ${word}[] = {${bytes}0};\n")
	string(APPEND table "\t{\"${name}\", (const char *)${word}, "
		"sizeof(${word}) - 1},\n")
endforeach()
string(APPEND table "\t{0, 0, 0},\n};\n")
file(WRITE ${OUT} "${text}${table}")
