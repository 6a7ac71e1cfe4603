-- What scripts for Tarantool find besides: errors, fault injection, `box.once`, and small modules.
-- What there is none of refuses in words, by name (cli/shell/refused.py).

local lua = ...
local box, modules, tables, ask = lua.box, lua.modules, lua.tables, lua.ask
local raw_error, ERROR, pcall = lua.error, lua.ERROR, lua.pcall

-- Errors.

local function is_error(value) return type(value) == "table" and getmetatable(value) == ERROR end

local names = {}
for name, code in pairs(lua.codes) do names[code] = name end

local function new_error(code, ...)
    local given = code
    if type(code) == "table" then
        given = { code = code.code or 0, message = code.message or code.reason or code[1] or "", type = code.type }
    elseif type(code) == "number" then
        given = { code = code, message = table.concat({ ... }, " ") }
    else
        given = { code = 0, message = select("#", ...) > 0 and string.format(...) or tostring(code), type = code }
    end
    given.type = given.type or "ClientError"
    given.base_type = given.type == "ClientError" and "ClientError" or "CustomError"
    given.name = given.name or names[given.code] or "UNKNOWN"
    if given.message == "" then given.message = given.name end
    return setmetatable(given, ERROR)
end

local errors = {}
for name, code in pairs(lua.codes) do errors[name] = code end
errors.new = new_error
function errors.is(value) return is_error(value) end
function errors.last() return lua.last_error() end
function errors.clear() lua.set_error(nil) end
function errors.set(err) lua.set_error(err) end
errors.injection = {
    set = function(name, value) return ask(0, "injection.set", name, value) end,
    get = function(name) return ask(0, "injection.get", name) end,
    info = function() return ask(0, "injection.info") end,
}
box.error = setmetatable(errors, {
    __kind = "map",
    __call = function(_, ...)
        local err = select("#", ...) == 0 and lua.last_error() or ...
        if err == nil then return end
        if not is_error(err) then err = new_error(...) end
        lua.set_error(err)
        raw_error(err, 0)
    end,
})

-- Once in the life of a cluster. The key is written before the function runs, as in Tarantool.

function box.once(key, f, ...)
    if type(key) ~= "string" or type(f) ~= "function" then raw_error("box.once(key, function, ...)", 0) end
    if ask(0, "once", key) then return f(...) end
end

-- Tables.

function tables.copy(value)
    local copy = {}
    for key, each in pairs(value) do copy[key] = each end
    return setmetatable(copy, getmetatable(value))
end

local function deep(value, seen)
    if type(value) ~= "table" then return value end
    if seen[value] then return seen[value] end
    local copy = {}
    seen[value] = copy
    for key, each in next, value do copy[deep(key, seen)] = deep(each, seen) end
    return setmetatable(copy, getmetatable(value))
end

function tables.deepcopy(value) return deep(value, {}) end

function tables.equals(one, two)
    if type(one) ~= "table" or type(two) ~= "table" then return one == two end
    for key, each in pairs(one) do
        if not tables.equals(each, two[key]) then return false end
    end
    for key in pairs(two) do
        if one[key] == nil then return false end
    end
    return true
end

-- Modules.

local UUID = { __kind = "map", __name = "uuid" }
UUID.__index = { str = function(self) return self.text end }
UUID.__tostring = function(self) return self.text end
UUID.__eq = function(one, two) return one.text == two.text end
UUID.__resolve = function(self) return self.text end
local FORM = "^" .. table.concat({ ("%x"):rep(8), ("%x"):rep(4), ("%x"):rep(4), ("%x"):rep(4), ("%x"):rep(12) }, "%-") .. "$"

local function uuid_of(text)
    if type(text) ~= "string" or not text:find(FORM) then return nil end
    return setmetatable({ text = text:lower() }, UUID)
end

local uuid = {
    new = function() return uuid_of(lua.uuid()) end,
    str = function() return lua.uuid() end,
    fromstr = uuid_of,
    is_uuid = function(value) return type(value) == "table" and getmetatable(value) == UUID end,
    NULL = uuid_of("00000000-0000-0000-0000-000000000000"),
}
modules.uuid = setmetatable(uuid, { __call = uuid.new })
modules.msgpack = {
    NULL = box.NULL,
    encode = function(value) return ask(0, "msgpack_encode", value) end,
    decode = function(data, start) return ask(0, "msgpack_decode", data, start or 1) end,
}

-- Refusals.

local function refusal(name)
    local function refuse() return ask(0, "refuse", name) end
    return lua.live(refuse, refuse, { __call = refuse })
end

local function place(name)
    local kind, member = name:match("^(%w+):([%w_]+)$")
    if kind then
        lua.methods[kind][member] = function() return ask(0, "refuse", name) end
        return
    end
    local at, path, leaf = box, name:match("^box(.*)%.([%w_]+)$")
    if not path then return end
    for step in path:gmatch("[%w_]+") do
        if getmetatable(at) and getmetatable(at).__resolve then return end -- asked of the node
        at[step] = at[step] or {}
        at = at[step]
    end
    if not (getmetatable(at) and getmetatable(at).__resolve) then at[leaf] = refusal(name) end
end

for name in pairs(lua.refused) do place(name) end
