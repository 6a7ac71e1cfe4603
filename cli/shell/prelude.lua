-- The Lua side of the admin shell: `box`, `netbox` and a sandbox, as ordinary tables.
--
-- Whatever needs the cluster yields (OP, connection, verb, arguments) out of the running chunk. The
-- Python side awaits the answer and resumes. Nothing of Python can be reached from here but `api`.

local api = ...

local co_create, co_resume, co_yield = coroutine.create, coroutine.resume, coroutine.yield
local raw_pcall, raw_xpcall, raw_load, raw_error = pcall, xpcall, load, error
local raw_pairs, raw_getmetatable, raw_setmetatable = pairs, getmetatable, setmetatable
local pack, unpack, sethook = table.pack, table.unpack, debug.sethook

local HOOK_INSTRUCTIONS = 10000
local PAGE = 1000
local OP = {}
local INTERRUPT = raw_setmetatable({}, { __tostring = function() return "interrupted" end })

-- Interrupts: a hook in every coroutine, and a pcall that does not catch them.

local function hook()
    if api.interrupted() then raw_error(INTERRUPT, 0) end
end

local function guarded(co)
    sethook(co, hook, "", HOOK_INSTRUCTIONS)
    return co
end

local function unless_interrupted(ok, err, ...)
    if not ok and err == INTERRUPT then raw_error(INTERRUPT, 0) end
    return ok, err, ...
end

local function safe_pcall(f, ...) return unless_interrupted(raw_pcall(f, ...)) end

local function safe_xpcall(f, catch, ...)
    return unless_interrupted(raw_xpcall(f, function(err)
        if err == INTERRUPT then return err end
        return catch(err)
    end, ...))
end

-- Coroutines of the user's: a question asked inside of one travels through its resume.

local function resume(co, ...)
    local back = pack(co_resume(co, ...))
    while back[1] and back[2] == OP do
        back = pack(co_resume(co, co_yield(unpack(back, 2, back.n))))
    end
    return unless_interrupted(unpack(back, 1, back.n))
end

local safe_coroutine = {
    create = function(f) return guarded(co_create(f)) end,
    resume = resume,
    yield = co_yield,
    status = coroutine.status,
    running = coroutine.running,
    isyieldable = coroutine.isyieldable,
    close = coroutine.close,
    wrap = function(f)
        local co = guarded(co_create(f))
        return function(...)
            local back = pack(resume(co, ...))
            if not back[1] then raw_error(back[2], 0) end
            return unpack(back, 2, back.n)
        end
    end,
}

local function text_of(value)
    local ok, text = raw_pcall(tostring, value)
    return ok and text or "?"
end

local fibers = raw_load(api.source("fiber.lua"), "@fiber.lua", "t")({
    OP = OP, INTERRUPT = INTERRUPT, create = co_create, resume = co_resume, yield = co_yield,
    guarded = guarded, clock = function() return api.clock() end, text_of = text_of,
    error = raw_error, emit = function(text) api.emit(text) end,
})

-- Asking.

local last_error

local function answered(ok, ...)
    if ok then return ... end
    last_error = (...)
    raw_error(last_error, 0)
end

-- Connection 0 is the shell's own; a fiber has a transaction of its own, so a session of its own.
local function ask(conn, verb, ...)
    if conn == 0 then conn = fibers.session() end
    return answered(co_yield(OP, conn, verb, pack(...)))
end

-- Kinds of values that a plain table cannot say.

local function typed(kind, more)
    local meta = more or {}
    meta.__kind = kind
    return meta
end

local error_methods = { unpack = function(self) return self end }
function error_methods:raise() raw_error(self, 0) end
local ERROR = typed("error", { __index = error_methods })
ERROR.__tostring = function(self) return self.message end
ERROR.__name = "error"
local ARRAY, MAP = typed("array"), typed("map")
local NULL = raw_setmetatable({}, typed("null", { __tostring = function() return "null" end }))
local checked_load = raw_load(api.source("nulls.lua"), "@nulls.lua", "t")({ NULL = NULL, load = raw_load })
local KEEP = raw_setmetatable({}, typed("keep", { __tostring = function() return "<...>" end }))
local BIG = typed("big", { __tostring = function(self) return self[1] end })
local SAVEPOINT = typed("map", { __name = "savepoint" })
local DOUBLE = typed("double", { __tostring = function(self) return tostring(self[1]) end })

local function fields_of(names)
    local places = {}
    for at = 1, #names do places[names[at]] = at end
    return places
end

local tuple_methods = {}
function tuple_methods:unpack(first, last) return unpack(self, first or 1, last or #self) end
function tuple_methods:totable()
    local copy = {}
    for at = 1, #self do copy[at] = self[at] end
    return raw_setmetatable(copy, ARRAY)
end
function tuple_methods:tomap()
    local places, map = raw_getmetatable(self).places, {}
    for name, at in raw_pairs(places) do map[name] = self[at] end
    return raw_setmetatable(map, MAP)
end

local function tuple_kind(names)
    local places = fields_of(names)
    return typed("tuple", {
        names = names,
        places = places,
        __index = function(self, key)
            local at = places[key]
            if at then return rawget(self, at) end
            return tuple_methods[key]
        end,
    })
end

local marks = { array = ARRAY, error = ERROR, big = BIG }

-- Spaces and indexes.

local hidden = raw_setmetatable({}, { __mode = "k" })
local space_methods, index_methods = {}, {}
local SPACE = typed("map", { __index = space_methods, __name = "space" })
local INDEX = typed("map", { __index = index_methods, __name = "index" })

local function own(self, method, what)
    local mine = hidden[self]
    if mine then return mine end
    raw_error("use " .. what .. ":" .. method .. "(...) instead of " .. what .. "." .. method .. "(...)", 0)
end

local function make_index(conn, space, definition)
    hidden[definition] = { conn = conn, space = space, index = definition.id }
    return raw_setmetatable(definition, INDEX)
end

local function make_space(conn, definition)
    hidden[definition] = { conn = conn, space = definition.id, index = 0 }
    local by = {}
    for _, each in ipairs(definition.index) do
        local made = make_index(conn, definition.id, each)
        by[each.id], by[each.name] = made, made
    end
    definition.index = raw_setmetatable(by, MAP)
    definition.format = nil -- a field of this name would hide the method
    return raw_setmetatable(definition, SPACE)
end

for _, name in ipairs({
    "get", "select", "count", "insert", "replace", "put", "update", "upsert", "delete",
    "min", "max", "truncate", "len",
}) do
    space_methods[name] = function(self, ...)
        local mine = own(self, name, "space")
        return ask(mine.conn, name, mine.space, mine.index, ...)
    end
    index_methods[name] = function(self, ...)
        local mine = own(self, name, "index")
        return ask(mine.conn, name, mine.space, mine.index, ...)
    end
end

local function pages(self, what, key, options)
    local mine = own(self, "pairs", what)
    local page, at, after, over = nil, 0, nil, false
    options = options or {}
    return function()
        if page == nil or (at >= #page and not over) then
            page = ask(mine.conn, "select", mine.space, mine.index, key, {
                iterator = options.iterator, limit = PAGE, after = after,
            })
            at, after, over = 0, page[#page], #page < PAGE
        end
        at = at + 1
        local row = page[at]
        if row ~= nil then return at, row end
    end
end

function space_methods:pairs(key, options) return pages(self, "space", key, options) end
function index_methods:pairs(key, options) return pages(self, "index", key, options) end

function space_methods:create_index(name, options)
    local mine = own(self, "create_index", "space")
    return make_index(mine.conn, mine.space, ask(mine.conn, "create_index", mine.space, name, options))
end

function space_methods:alter(options)
    local mine = own(self, "alter", "space")
    ask(mine.conn, "alter", mine.space, options)
end

function space_methods:rename(name) return self:alter({ name = name }) end

function space_methods:format(columns)
    local mine = own(self, "format", "space")
    if columns == nil then return ask(mine.conn, "space", mine.space).format end
    return self:alter({ format = columns })
end

function space_methods:frommap(map)
    local row, known = {}, {}
    for at, field in ipairs(self:format()) do
        known[field.name] = true
        row[at] = map[field.name] == nil and NULL or map[field.name]
    end
    for name in pairs(map) do
        if not known[name] then
            raw_error("space " .. self.name .. " has no field '" .. tostring(name) .. "' in its format", 0)
        end
    end
    return raw_setmetatable(row, ARRAY)
end

function space_methods:drop()
    local mine = own(self, "drop", "space")
    ask(mine.conn, "drop", mine.space)
end

function index_methods:drop()
    local mine = own(self, "drop", "index")
    ask(mine.conn, "drop_index", mine.space, mine.index)
end

-- Tables whose members are asked for when they are looked at. Returned from a chunk they are shown whole.

local function live(index, whole, more)
    local meta = more or {}
    meta.__index, meta.__resolve, meta.__kind = index, whole, "map"
    meta.__newindex = function(_, key) raw_error("'" .. tostring(key) .. "' cannot be assigned here", 0) end
    return raw_setmetatable({}, meta)
end

local function spaces(conn)
    return live(function(_, name)
        local definition = ask(conn, "space", name)
        return definition and make_space(conn, definition)
    end, function() return ask(conn, "spaces") end, {
        __pairs = function()
            local all = ask(conn, "space_names")
            local at = 0
            return function()
                at = at + 1
                local name = all[at]
                local definition = name and ask(conn, "space", name)
                if definition then return name, make_space(conn, definition) end
            end
        end,
    })
end

local function verbs(conn, prefix, names)
    local found = {}
    for _, name in ipairs(names) do
        found[name] = function(...) return ask(conn, prefix .. name, ...) end
    end
    return found
end

local function schema(conn)
    local function create(name, options) return make_space(conn, ask(conn, "create_space", name, options)) end
    return {
        create_space = create,
        space = { create = create },
        sequence = { create = function(name, options) return ask(conn, "create_sequence", name, options) end },
        user = verbs(conn, "user.", {
            "create", "drop", "passwd", "grant", "revoke", "info", "exists", "list",
        }),
        role = verbs(conn, "role.", {
            "create", "drop", "grant", "revoke", "info", "exists", "list",
        }),
    }
end

-- What is to be called at the end of the open transaction, by session. It runs here, in the client.
local endings = {}
-- The open transaction of each session, to tell the savepoints of one from those of another.
local begun = {}

local function at_end(conn, kind, f)
    if type(f) ~= "function" then raw_error("box.on_" .. kind .. "(function)", 0) end
    if not ask(conn, "is_in_txn") then raw_error("box.on_" .. kind .. ": no transaction is open", 0) end
    local session = conn == 0 and fibers.session() or conn
    local mine = endings[session] or {}
    endings[session] = mine
    mine[#mine + 1] = { kind = kind, f = f }
end

-- The outcome is decided: a function that fails is reported, and changes it for nobody.
local function ended(conn, kind)
    local session = conn == 0 and fibers.session() or conn
    local mine = endings[session] or {}
    endings[session] = nil
    for _, each in ipairs(mine) do
        if each.kind == kind then
            local ok, err = safe_pcall(each.f, function() return ask(0, "refuse", "box.on_commit iterator") end)
            if not ok then api.emit("a function of box.on_" .. kind .. " failed: " .. text_of(err)) end
        end
    end
end

local function transactions(conn, target)
    function target.begin(options)
        ask(conn, "begin", options)
        local session = conn == 0 and fibers.session() or conn
        endings[session], begun[session] = nil, {}
    end
    function target.commit(options)
        local back = pack(raw_pcall(ask, conn, "commit", options))
        if back[1] then
            ended(conn, "commit")
            return unpack(back, 2, back.n)
        end
        local err = back[2]
        if type(err) == "table" and err.outcome == "rolled_back" then ended(conn, "rollback") end
        raw_error(err, 0)
    end
    function target.rollback()
        ask(conn, "rollback")
        ended(conn, "rollback")
    end
    function target.is_in_txn() return ask(conn, "is_in_txn") end
    function target.savepoint() 
        local of = begun[conn == 0 and fibers.session() or conn]
        return raw_setmetatable({ ask(conn, "savepoint"), of }, SAVEPOINT)
    end
    function target.rollback_to_savepoint(mark)
        if raw_getmetatable(mark) ~= SAVEPOINT then raw_error("box.rollback_to_savepoint(savepoint)", 0) end
        local of = begun[conn == 0 and fibers.session() or conn]
        return ask(conn, "rollback_to_savepoint", mark[1], mark[2] == of)
    end
    function target.on_commit(f) return at_end(conn, "commit", f) end
    function target.on_rollback(f) return at_end(conn, "rollback", f) end
    function target.atomic(...)
        local options, f, first = nil, ..., 2
        if type(f) == "table" then options, f, first = f, (select(2, ...)), 3 end
        target.begin(options)
        local back = pack(raw_pcall(f, select(first, ...)))
        if not back[1] then
            target.rollback()
            raw_error(back[2], 0)
        end
        target.commit()
        return unpack(back, 2, back.n)
    end
    return target
end

local box = transactions(0, {
    NULL = NULL,
    KEEP = KEEP,
    space = spaces(0),
    schema = schema(0),
    index = { EQ = "eq", REQ = "req", ALL = "all", LT = "lt", LE = "le", GE = "ge", GT = "gt" },
    ctl = verbs(0, "ctl.", {
        "promote", "demote", "clear_synchro_queue", "rollback_synchro_queue", "wait_ro", "wait_rw",
        "replica_gc", "dry_run", "wal_sync",
    }),
    -- Not there yet: whatever is done with it, the answer says so.
    backup = live(function(_, key)
        if key == "stop" then return function() return ask(0, "backup.stop") end end
        return function() return ask(0, "backup.start") end
    end, function() return ask(0, "backup.start") end, {
        __call = function() return ask(0, "backup.start") end,
    }),
    session = verbs(0, "session.", { "user", "su", "effective_user", "id", "type", "peer" }),
    why = verbs(0, "why.", { "read_only", "waiting", "promote", "demote", "clear_synchro_queue" }),
    info = live(function(_, key) return ask(0, "info", key) end, function() return ask(0, "info") end, {
        __call = function() return ask(0, "info") end,
    }),
    cfg = live(function(_, key)
        local value = ask(0, "cfg")[key]
        if value == nil and api.refused["cfg." .. tostring(key)] then
            return ask(0, "refuse", "cfg." .. key)
        end
        return value
    end, function() return ask(0, "cfg") end, {
        __call = function(_, options) return ask(0, "cfg", options or {}) end,
    }),
    stat = live(function(_, key) return ask(0, "stat")[key] end, function() return ask(0, "stat") end, {
        __call = function() return ask(0, "stat") end,
    }),
    sequence = live(function(_, name)
        return { next = function() return ask(0, "next_value", name) end }
    end, function() return ask(0, "sequences") end),
    tuple = { new = function(fields) return raw_setmetatable(fields, ARRAY) end },
})

box.session.effective_user = box.session.user

do  -- With a function it is called as that user, and then one is who one was.
    local su = box.session.su
    function box.session.su(user, f, ...)
        if f == nil then return su(user) end
        local before = box.session.user()
        su(user)
        local back = pack(raw_pcall(f, ...))
        su(before)
        if not back[1] then raw_error(back[2], 0) end
        return unpack(back, 2, back.n)
    end
end

function box.snapshot() return ask(0, "snapshot") end
function box.double(number) return raw_setmetatable({ number }, DOUBLE) end
function box.watch_once(key) return ask(0, "watch_once", key) end

local watcher_methods = {}
local WATCHER = typed("map", { __index = watcher_methods, __name = "watcher" })

local function watch(conn, key, f)
    if type(f) ~= "function" then raw_error("watch(key, function(key, value) ... end)", 0) end
    local kept = api.keep(f)
    f(key, ask(conn, "watch", key, kept))
    local watcher = {}
    hidden[watcher] = kept
    return raw_setmetatable(watcher, WATCHER)
end

function watcher_methods:unregister() api.forget(own(self, "unregister", "watcher")) end
function box.watch(key, f) return watch(0, key, f) end

function box.ctl.on_election(f)
    return box.watch("box.election", function(_, value) return f(value) end)
end

-- Other connections.

local connection_methods = {}
local CONNECTION = typed("map", { __index = connection_methods, __name = "connection" })

local function connect(uri)
    local conn, address = ask(0, "connect", uri)
    local made = transactions(conn, {})
    local this = { address = address, space = spaces(conn), schema = schema(conn) }
    for name, f in raw_pairs(made) do
        this[name] = function(self, ...)
            if self ~= this then raw_error("use connection:" .. name .. "(...)", 0) end
            return f(...)
        end
    end
    hidden[this] = { conn = conn, uri = uri }
    return raw_setmetatable(this, CONNECTION)
end

function connection_methods:ping() return ask(own(self, "ping", "connection").conn, "ping") end
function connection_methods:close() return ask(own(self, "close", "connection").conn, "close") end
function connection_methods:info(key) return ask(own(self, "info", "connection").conn, "info", key) end
function connection_methods:watch(key, f) return watch(own(self, "watch", "connection").conn, key, f) end
function connection_methods:is_connected()
    local mine = own(self, "is_connected", "connection")
    return (raw_pcall(ask, mine.conn, "ping"))
end
function connection_methods:wait_connected() return self:is_connected() end
function connection_methods:new_stream() return connect(own(self, "new_stream", "connection").uri) end

local netbox = { connect = connect }

-- What `require` finds, and the environment of all chunks. Python's functions stay behind Lua's.

local function plainly(f) return function(...) return f(...) end end

local modules = {
    ["net.box"] = netbox,
    fiber = fibers.module,
    clock = { time = plainly(api.time), realtime = plainly(api.time), monotonic = plainly(api.clock) },
    json = {
        NULL = NULL,
        encode = function(value) return ask(0, "json_encode", value) end,
        decode = function(text) return ask(0, "json_decode", text) end,
    },
    yaml = { encode = function(value) return ask(0, "yaml_encode", value) end },
    log = {},
}

local function micro(f) return function() return math.floor(f() * 1000000) end end

fibers.module.time, fibers.module.clock = plainly(api.time), plainly(api.clock)
fibers.module.time64, fibers.module.clock64 = micro(api.time), micro(api.clock)
modules.clock.time64, modules.clock.monotonic64 = micro(api.time), micro(api.clock)
for _, level in ipairs({ "error", "warn", "info", "verbose", "debug" }) do
    modules.log[level] = function(text, ...)
        api.emit(select("#", ...) > 0 and string.format(text, ...) or text_of(text))
    end
end

local tables = {}
for name, f in raw_pairs(table) do tables[name] = f end

raw_load(api.source("tarantool.lua"), "@tarantool.lua", "t")({
    box = box, modules = modules, tables = tables, ask = ask, live = live, error = raw_error,
    last_error = function() return last_error end, set_error = function(err) last_error = err end,
    methods = {
        space = space_methods, index = index_methods, tuple = tuple_methods,
        connection = connection_methods,
    },
    ERROR = ERROR, codes = api.codes, refused = api.refused, uuid = api.uuid, pcall = raw_pcall,
})

local strings = {}
for name, f in raw_pairs(string) do strings[name] = f end
strings.dump = nil
raw_getmetatable("").__index = strings

local env
env = {
    _VERSION = _VERSION,
    assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, select = select,
    tonumber = tonumber, tostring = tostring, type = type,
    rawequal = rawequal, rawget = rawget, rawlen = rawlen, rawset = rawset,
    math = math, table = tables, unpack = unpack, utf8 = utf8, string = strings,
    pcall = safe_pcall, xpcall = safe_xpcall, coroutine = safe_coroutine,
    box = box, netbox = netbox,
    setmetatable = setmetatable,
    getmetatable = function(value)
        local meta = raw_getmetatable(value)
        if type(meta) == "table" and (meta.__kind or value == "" or type(value) == "string") then return nil end
        return meta
    end,
    print = function(...)
        -- Python must not call back into Lua while Lua waits for it, so values are shown by asking.
        if coroutine.isyieldable() then return ask(0, "print", ...) end
        local parts = pack(...)
        for at = 1, parts.n do parts[at] = text_of(parts[at]) end
        api.emit(table.concat(parts, "\t", 1, parts.n))
    end,
    require = function(name)
        if modules[name] then return modules[name] end
        if api.refused["require " .. text_of(name)] then return ask(0, "refuse", "require " .. name) end
        return raw_error("the shell has no module '" .. text_of(name) .. "'", 0)
    end,
    load = function(chunk, name, _, its)
        if type(chunk) == "function" then
            local parts = {}
            for part in chunk do
                if part == "" then break end
                parts[#parts + 1] = part
            end
            chunk = table.concat(parts)
        end
        return checked_load(chunk, name, its or env)
    end,
    help = function(topic) return ask(0, "help", topic) end,
    tutorial = function(action) return ask(0, "tutorial", action) end,
}
env._G = env

-- What Python calls.

local main = {}

function main.compile(source, name)
    local f, cut_off = checked_load("return " .. source, name, env)
    if f then return f end
    local err
    f, err = checked_load(source, name, env)
    if f then return f end
    -- An expression such as `{1,` is no statement at all, but it may go on.
    if not err:find("near <eof>", 1, true) and cut_off:find("near <eof>", 1, true) then
        err = cut_off
    end
    return nil, err
end

local function resolved(...)
    local values = pack(...)
    for at = 1, values.n do
        local meta = raw_getmetatable(values[at])
        local whole = type(meta) == "table" and rawget(meta, "__resolve")
        if whole then values[at] = whole(values[at]) end
    end
    return values
end

function main.start(f, ...)
    return fibers.start(function(...) return resolved(f(...)) end, ...)
end

for _, name in ipairs({ "turn", "answer", "drop", "live", "spawn" }) do main[name] = fibers[name] end

-- A map remembers the order of its keys, which Lua does not.
function main.ordered(value, keys, callable)
    local meta = typed("map", { names = keys })
    if callable then meta.__call = function(self) return self end end
    return raw_setmetatable(value, meta)
end

function main.mark(value, kind) return raw_setmetatable(value, marks[kind]) end
function main.tuple_kind(names) return tuple_kind(names) end
function main.with(value, meta) return raw_setmetatable(value, meta) end

function main.kind_of(value)
    local meta = raw_getmetatable(value)
    if type(meta) ~= "table" then return nil end
    return rawget(meta, "__kind"), rawget(meta, "names")
end

main.null, main.keep, main.env = NULL, KEEP, env
return main
