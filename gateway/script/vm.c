#include "gateway/script/vm.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

struct vm {
	lua_State *lua;
	size_t used; /* bytes */
	char reason[SCRIPT_REASON_MAX + 1];
};

/* lua_Alloc: within VM_MEMORY_MAX. */
static void *allocate(void *owner, void *old, size_t old_size, size_t size)
{
	struct vm *vm = owner;
	void *memory;

	/* Of a new block it is a kind, not a size. */
	if (!old)
		old_size = 0;
	if (size == 0) {
		free(old);
		vm->used -= old_size;
		return NULL;
	}
	if (size > old_size && size - old_size > VM_MEMORY_MAX - vm->used)
		return NULL;
	memory = realloc(old, size);
	if (memory)
		vm->used += size - old_size;
	return memory;
}

/* What a script may not have: files, code from strings, and what tells it
 * about the collector. */
static void remove_globals(lua_State *lua)
{
	static const char *const names[] = {"dofile", "loadfile", "load",
					    "print", "collectgarbage"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		lua_pushnil(lua);
		lua_setglobal(lua, names[i]);
	}
	lua_getglobal(lua, LUA_STRLIBNAME);
	lua_pushnil(lua);
	lua_setfield(lua, -2, "dump");
	lua_pop(lua, 1);
}

static void open_libraries(lua_State *lua)
{
	static const luaL_Reg libraries[] = {
		{LUA_GNAME, luaopen_base},
		{LUA_STRLIBNAME, luaopen_string},
		{LUA_TABLIBNAME, luaopen_table},
		{LUA_MATHLIBNAME, luaopen_math},
		{LUA_UTF8LIBNAME, luaopen_utf8},
	};

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		luaL_requiref(lua, libraries[i].name, libraries[i].func, 1);
		lua_pop(lua, 1);
	}
	remove_globals(lua);
}

/* Protected: whatever runs out of memory ends here. */
static int begin(lua_State *lua)
{
	const struct bytes *text = lua_touserdata(lua, 1);

	open_libraries(lua);
	if (luaL_loadbufferx(lua, (const char *)text->data, text->len,
			     "=script", "t") != LUA_OK)
		return lua_error(lua);
	lua_call(lua, 0, 0);
	lua_getglobal(lua, "decide");
	if (!lua_isfunction(lua, -1))
		return luaL_error(lua, "script: no function \"decide\"");
	return 0;
}

static int fail(struct vm *vm, struct err *err)
{
	const char *text = lua_tostring(vm->lua, -1);

	err_set(err, ERR_INVALID, "%s", text ? text : "an error of no words");
	lua_settop(vm->lua, 0);
	return -1;
}

struct vm *vm_new(struct bytes text, struct err *err)
{
	struct vm *vm = calloc(1, sizeof(*vm));

	if (vm)
		vm->lua = lua_newstate(allocate, vm);
	if (!vm || !vm->lua) {
		free(vm);
		err_set(err, ERR_SYSTEM, "start Lua: memory is out");
		return NULL;
	}
	lua_pushcfunction(vm->lua, begin);
	lua_pushlightuserdata(vm->lua, &text);
	if (lua_pcall(vm->lua, 1, 0, 0) == LUA_OK)
		return vm;
	(void)fail(vm, err);
	vm_free(vm);
	return NULL;
}

void vm_free(struct vm *vm)
{
	if (!vm)
		return;
	lua_close(vm->lua);
	free(vm);
}

/* ---- a request ---- */

static void set_text(lua_State *lua, const char *name, struct bytes text)
{
	(void)lua_pushlstring(lua, (const char *)text.data, text.len);
	lua_setfield(lua, -2, name);
}

/* On top: the headers. Appends to a value that is there already. */
static void add_header(lua_State *lua, const struct msg_script_field *field)
{
	luaL_Buffer name;

	luaL_buffinit(lua, &name);
	for (size_t i = 0; i < field->name.len; i++) {
		uint8_t c = field->name.data[i];

		luaL_addchar(&name,
			     (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c));
	}
	luaL_pushresult(&name);
	lua_pushvalue(lua, -1);
	if (lua_rawget(lua, -3) == LUA_TSTRING) {
		(void)lua_pushliteral(lua, ", ");
		(void)lua_pushlstring(lua, (const char *)field->value.data,
				      field->value.len);
		lua_concat(lua, 3);
	} else {
		lua_pop(lua, 1);
		(void)lua_pushlstring(lua, (const char *)field->value.data,
				      field->value.len);
	}
	lua_rawset(lua, -3);
}

static void push_request(lua_State *lua,
			 const struct msg_script_request *request)
{
	lua_newtable(lua);
	set_text(lua, "method", request->method);
	set_text(lua, "scheme", bytes_str(request->is_tls ? "https" : "http"));
	set_text(lua, "host", request->host);
	lua_pushinteger(lua, request->port);
	lua_setfield(lua, -2, "port");
	set_text(lua, "path", request->path);
	set_text(lua, "query", request->query);
	lua_newtable(lua);
	for (size_t i = 0; i < request->fields_count; i++)
		add_header(lua, &request->fields[i]);
	lua_setfield(lua, -2, "headers");
}

/* Protected. Returns what decide() does, two values. */
static int call_decide(lua_State *lua)
{
	const struct msg_script_request *request = lua_touserdata(lua, 1);

	lua_getglobal(lua, "decide");
	push_request(lua, request);
	lua_call(lua, 1, 2);
	return 2;
}

static int read_verdict(struct vm *vm, struct msg_script_verdict *verdict,
			struct err *err)
{
	const char *kind = lua_tostring(vm->lua, -2);
	const char *reason = lua_tostring(vm->lua, -1);

	*verdict = (struct msg_script_verdict){.kind = SCRIPT_NOTHING};
	if (lua_isnil(vm->lua, -2))
		return 0;
	if (lua_type(vm->lua, -2) == LUA_TSTRING && strcmp(kind, "allow") == 0)
		verdict->kind = SCRIPT_ALLOW;
	else if (lua_type(vm->lua, -2) == LUA_TSTRING &&
		 strcmp(kind, "deny") == 0)
		verdict->kind = SCRIPT_DENY;
	else
		return err_set(err, ERR_INVALID,
			       "decide() must return nil, \"allow\" or "
			       "\"deny\"");
	(void)snprintf(vm->reason, sizeof(vm->reason), "%s",
		       reason ? reason : "");
	verdict->reason = bytes_str(vm->reason);
	return 0;
}

int vm_decide(struct vm *vm, const struct msg_script_request *request,
	      struct msg_script_verdict *verdict, struct err *err)
{
	int result;

	lua_settop(vm->lua, 0);
	lua_pushcfunction(vm->lua, call_decide);
	lua_pushlightuserdata(vm->lua, (void *)(uintptr_t)request);
	if (lua_pcall(vm->lua, 1, 2, 0) != LUA_OK)
		return fail(vm, err);
	result = read_verdict(vm, verdict, err);
	lua_settop(vm->lua, 0);
	return result;
}
