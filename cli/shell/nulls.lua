-- `value == nil` is true of box.NULL, too, as it is in Tarantool.
--
-- Lua 5.4 asks nobody when it compares values of two types. It does ask for `<=`, which binds as
-- `==` does, so `x == nil` becomes `x <= IS` and `nil == x` becomes `IS >= x`; `~=` likewise, with
-- NOT. Texts and comments are left alone, and so is a chunk that has no such comparison.

local lua = ...
local NULL, raw_load = lua.NULL, lua.load
local find, sub, match = string.find, string.sub, string.match

local IS = setmetatable({}, { __le = function(value) return value == nil or rawequal(value, NULL) end })
local NOT = setmetatable({}, { __le = function(value) return value ~= nil and not rawequal(value, NULL) end })
local NAMES = { ["=="] = "__is_nil", ["~="] = "__is_not_nil" }
local TURNED = { ["=="] = ">=", ["~="] = ">=" }
local BEFORE = "local __is_nil, __is_not_nil = ... return function(...) "

-- Where the token at this place ends, and what it is: nothing for blanks and comments.
local function token(source, at)
    local _, last = find(source, "^%s+", at)
    if last then return last end
    local level = match(source, "^%-%-%[(=*)%[", at)
    if level then
        _, last = find(source, "]" .. level .. "]", at, true)
        return last or #source
    end
    _, last = find(source, "^%-%-[^\n]*", at)
    if last then return last end
    level = match(source, "^%[(=*)%[", at)
    if level then
        _, last = find(source, "]" .. level .. "]", at, true)
        return last or #source, "text"
    end
    local quote = match(source, "^['\"]", at)
    if quote then
        last = at + 1
        while last <= #source and sub(source, last, last) ~= quote do
            last = last + (sub(source, last, last) == "\\" and 2 or 1)
        end
        return last, "text"
    end
    _, last = find(source, "^[%a_][%w_]*", at)
    if last then return last, sub(source, at, last) end
    _, last = find(source, "^%.?%d[%w_.]*", at)
    if last then return last, "number" end
    local two = sub(source, at, at + 1)
    if two == "==" or two == "~=" or two == ".." or two == "::" then return at + 1, two end
    return at, sub(source, at, at)
end

local function tokens(source)
    local found, at = {}, 1
    while at <= #source do
        local last, what = token(source, at)
        if what then found[#found + 1] = { what = what, first = at, last = last } end
        at = last + 1
    end
    return found
end

-- How many tokens from there on say nil: `nil`, or `box.NULL` that goes on in no way.
local function says_nil(found, at)
    local one = found[at]
    if not one then return 0 end
    if one.what == "nil" then return 1 end
    local before, behind = found[at - 1], found[at + 3]
    if one.what ~= "box" or before and (before.what == "." or before.what == ":") then return 0 end
    if not (found[at + 1] and found[at + 1].what == "." and found[at + 2] and found[at + 2].what == "NULL") then
        return 0
    end
    if behind and find(behind.what, "^[.:%[({]$") then return 0 end
    return 3
end

local function rewritten(source)
    local found, parts, at, copied = tokens(source), {}, 1, 0
    local function put(first, last, text)
        parts[#parts + 1] = sub(source, copied + 1, found[first].first - 1)
        parts[#parts + 1] = text
        copied = found[last].last
    end
    while at <= #found do
        local size = says_nil(found, at)
        local operator = size > 0 and found[at + size] and NAMES[found[at + size].what]
        if operator then -- nil == x
            put(at, at + size, operator .. " " .. TURNED[found[at + size].what])
            at = at + size + 1
            at = at + says_nil(found, at)
        else
            operator = NAMES[found[at].what]
            size = operator and says_nil(found, at + 1) or 0
            if size > 0 then put(at, at + size, "<= " .. operator) end -- x == nil
            at = at + size + 1
        end
    end
    if copied == 0 then return nil end
    parts[#parts + 1] = sub(source, copied + 1)
    return table.concat(parts)
end

-- As `load`: a function, or nil and what is wrong.
return function(source, name, env)
    local f, err = raw_load(source, name, "t", env)
    if not f or type(source) ~= "string" then return f, err end
    local changed = rewritten(source)
    if not changed then return f end
    return raw_load(BEFORE .. changed .. "\nend", name, "t", env)(IS, NOT)
end
