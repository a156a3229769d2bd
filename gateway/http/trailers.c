#include "gateway/http/trailers.h"

#include "gateway/http/guard.h"
#include "gateway/http/write.h"

bool trailer_passes(struct bytes name)
{
	static const struct bytes prefix = BYTES_LITERAL("grpc-");

	return name.len > prefix.len && http_is_token(name) &&
	       bytes_equal_nocase(bytes_slice(name, 0, prefix.len), prefix);
}

/* What is called gRPC-Web is made for HTTP/1.1 as well. */
static bool is_grpc(struct bytes type)
{
	static const struct bytes grpc = BYTES_LITERAL("application/grpc");
	struct bytes rest = bytes_slice(type, grpc.len, type.len);

	return bytes_equal_nocase(bytes_slice(type, 0, grpc.len), grpc) &&
	       (rest.len == 0 || rest.data[0] == '+' || rest.data[0] == ';' ||
		rest.data[0] == ' ' || rest.data[0] == '\t');
}

bool request_wants_trailers(const struct request *request)
{
	const struct field *type =
		fields_find(&request->fields, "Content-Type");

	return request->takes_trailers ||
	       (type && is_grpc(bytes_trim(type->value)));
}

int trailers_read(struct arena *arena, struct bytes section,
		  struct fields *trailers)
{
	*trailers = (struct fields){.room = TRAILERS_MAX};
	trailers->items =
		arena_array(arena, TRAILERS_MAX, sizeof(*trailers->items));
	if (!trailers->items)
		return -1;
	while (section.len > 0) {
		struct bytes line, name;

		bytes_split(&section, '\n', &line);
		line = bytes_slice(line, 0, line.len ? line.len - 1 : 0);
		if (!bytes_split(&line, ':', &name) || !trailer_passes(name))
			continue;
		line = bytes_trim(line);
		if (http_is_value(line) && fields_add(trailers, name, line) < 0)
			break;
	}
	return 0;
}

int trailers_write(struct buf *out, const struct fields *trailers)
{
	if (buf_add_str(out, "0\r\n") < 0)
		return -1;
	for (size_t i = 0; i < trailers->count; i++)
		if (trailer_passes(trailers->items[i].name) &&
		    write_field(out, trailers->items[i].name,
				trailers->items[i].value) < 0)
			return -1;
	return write_end(out);
}
