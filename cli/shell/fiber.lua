-- Fibers: coroutines that take turns. Who waits gives its turn away, and no two run at once.
--
-- A chunk is a fiber too, so all of them can wait for each other. Python calls `turn` until nothing
-- is left to be done now, carries what was asked, and calls `answer`.

local lua = ...
local OP, INTERRUPT = lua.OP, lua.INTERRUPT
local co_create, co_resume, co_yield, guarded = lua.create, lua.resume, lua.yield, lua.guarded
local clock, text_of, raw_error, raw_setmetatable = lua.clock, lua.text_of, lua.error, setmetatable
local pack, unpack, remove = table.pack, table.unpack, table.remove

local FIRST = 100 -- Tarantool's first fiber has about this number; only that it is none of Lua's matters
local PARK = {}
local all, ready, events = {}, {}, {}
local current, last = nil, FIRST
local records = raw_setmetatable({}, { __mode = "k" })

local function wake(one, woken)
    if not one.parked then return false end
    one.parked, one.deadline, one.status = false, nil, "ready"
    ready[#ready + 1] = pack(one, woken)
    return true
end

local function wake_first(waiters)
    while #waiters > 0 do
        if wake(remove(waiters, 1), true) then return end
    end
end

local function wake_all(waiters)
    for at = 1, #waiters do wake(waiters[at], true) end
end

local function tell(...) events[#events + 1] = pack(...) end

local function finished(one, ok, ...)
    one.status, one.parked, all[one.id] = "dead", false, nil
    one.back = pack(ok, ...)
    wake_all(one.waiters)
    local what = (...)
    if one.chunk then
        if ok then tell("done", one.id, what)
        elseif what == INTERRUPT then tell("interrupted", one.id)
        else tell("error", one.id, what, text_of(what)) end
        return
    end
    tell("ended", one.id)
    if not ok and not one.joinable and not (one.cancelled or what == INTERRUPT) then
        lua.emit("fiber " .. one.id .. " (" .. one.name .. ") failed: " .. text_of(what))
    end
end

local function stepped(one, _, mark, what, ...)
    if mark ~= OP then
        return finished(one, false, "attempt to yield from outside a coroutine")
    end
    one.status = "suspended"
    if what == PARK then
        one.parked, one.deadline = true, (...)
    else
        tell("ask", one.id, what, ...)
    end
end

local function advance(one, ...)
    local former = current
    current, one.status = one, "running"
    local back = pack(co_resume(one.co, ...))
    current = former
    if coroutine.status(one.co) == "dead" then finished(one, unpack(back, 1, back.n))
    else stepped(one, unpack(back, 1, back.n)) end
end

local function begin(f, name, chunk)
    last = last + 1
    local one = {
        id = last, co = guarded(co_create(f)), name = name, chunk = chunk, status = "ready",
        waiters = {}, storage = {},
    }
    all[last] = one
    return one
end

-- Wait until somebody wakes this fiber, or for so long. False: the time is up.
local function park(waiters, timeout)
    local me = current
    if waiters then waiters[#waiters + 1] = me end
    local woken = co_yield(OP, PARK, timeout and clock() + timeout)
    for at = waiters and #waiters or 0, 1, -1 do
        if waiters[at] == me then remove(waiters, at) end
    end
    if me.cancelled then raw_error("fiber is cancelled", 0) end
    return woken
end

-- What Python calls.

local main = {}

function main.start(f, ...)
    local one = begin(f, "chunk", true)
    ready[#ready + 1] = pack(one, ...)
    return one.id
end

-- A fiber that nobody waits for.
function main.spawn(f, ...) ready[#ready + 1] = pack(begin(f, "watcher", false), ...) end

function main.drop(id)
    local one = all[id]
    if one then
        all[id], one.status, one.parked = nil, "dead", false
        wake_all(one.waiters)
    end
end

function main.answer(id, ...)
    local one = all[id]
    if one then ready[#ready + 1] = pack(one, ...) end
end

function main.live()
    local count = 0
    for _, one in pairs(all) do
        if not one.chunk then count = count + 1 end
    end
    return count
end

local function due(now)
    local late = {}
    for _, one in pairs(all) do
        if one.parked and one.deadline and one.deadline <= now then late[#late + 1] = one end
    end
    table.sort(late, function(a, b)
        if a.deadline ~= b.deadline then return a.deadline < b.deadline end
        return a.id < b.id
    end)
    for at = 1, #late do wake(late[at], false) end
end

local function until_next(now)
    if #ready > 0 then return 0 end
    local first
    for _, one in pairs(all) do
        if one.parked and one.deadline and not (first and first <= one.deadline) then first = one.deadline end
    end
    return first and math.max(0, first - now)
end

-- "ask", fiber, connection, verb, arguments | "done", chunk, values | "error", chunk, what, text
-- | "interrupted", chunk | "ended", fiber | "idle", seconds until somebody wants a turn, or nothing.
function main.turn()
    if #events == 0 then
        due(clock())
        local batch = ready
        ready = {}
        for at = 1, #batch do
            local one = batch[at][1]
            if one.status ~= "dead" then advance(one, unpack(batch[at], 2, batch[at].n)) end
        end
    end
    local event = remove(events, 1)
    if event then return unpack(event, 1, event.n) end
    return "idle", until_next(clock())
end

-- The connection of the fiber's own transaction; chunks share that of the shell.
function main.session()
    if current and not current.chunk then return -current.id end
    return 0
end

-- What chunks call.

local module, methods = {}, {}
local FIBER = { __kind = "map", __index = methods, __name = "fiber" }
FIBER.__tostring = function(self) return "fiber: " .. records[self].id end
FIBER.__resolve = function(self)
    local one = records[self]
    return raw_setmetatable({ id = one.id, name = one.name, status = one.status }, { __kind = "map" })
end

local function handle(one)
    if not one.handle then
        one.handle = raw_setmetatable({ storage = one.storage }, FIBER)
        records[one.handle] = one
    end
    return one.handle
end

local function found(which)
    if which == nil then return current end
    local one = records[which] or all[which]
    return one or raw_error("there is no fiber " .. tostring(which), 0)
end

local function made(f, name)
    if type(f) ~= "function" then raw_error("fiber." .. name .. "(function, ...)", 0) end
    return begin(f, "lua", false)
end

function module.create(f, ...)
    local one = made(f, "create")
    advance(one, ...)
    return handle(one)
end

function module.new(f, ...)
    local one = made(f, "new")
    ready[#ready + 1] = pack(one, ...)
    return handle(one)
end

function module.self() return handle(current) end
function module.find(id) return all[id] and handle(all[id]) end
function module.id(which) return found(which).id end
function module.status(which) return found(which).status end

function module.sleep(seconds)
    if type(seconds) ~= "number" or seconds < 0 then raw_error("fiber.sleep(seconds)", 0) end
    park(nil, seconds)
end

function module.yield() park(nil, 0) end

function module.testcancel()
    if current.cancelled then raw_error("fiber is cancelled", 0) end
end

function module.name(which, name)
    if type(which) == "string" then which, name = nil, which end
    local one = found(which)
    if type(name) ~= "string" then return one.name end
    one.name = name
end

function module.cancel(which)
    local one = found(which)
    if one.status == "dead" or one.chunk then return end
    one.cancelled = true
    wake(one, true)
end

module.kill = module.cancel

function module.wakeup(which) wake(found(which), true) end
function module.set_joinable(which, joinable) found(which).joinable = joinable end

function module.join(which, timeout)
    local one = found(which)
    if not one.joinable then raw_error("the fiber is not joinable", 0) end
    if one.status ~= "dead" and not park(one.waiters, timeout) and one.status ~= "dead" then
        return false, "timed out"
    end
    one.joinable = false
    return unpack(one.back, 1, one.back.n)
end

function module.info()
    local told = {}
    for id, one in pairs(all) do
        told[id] = { fid = id, name = one.name, status = one.status }
    end
    return told
end

for _, name in ipairs({ "id", "status", "name", "cancel", "wakeup", "set_joinable", "join" }) do
    methods[name] = function(self, ...)
        if not records[self] then raw_error("use fiber:" .. name .. "(...) instead of fiber." .. name, 0) end
        return module[name](self, ...)
    end
end

function module.cond()
    local waiters, cond = {}, {}
    function cond.wait(_, timeout) return park(waiters, timeout) and true or false end
    function cond.signal() wake_first(waiters) end
    function cond.broadcast() wake_all(waiters) end
    return raw_setmetatable(cond, { __kind = "map", __name = "cond" })
end

function module.channel(size)
    size = size or 0
    local items, readers, writers, closed, channel = {}, {}, {}, false, {}
    local function room() return #items < size + #readers end
    function channel.put(_, value, timeout)
        local until_ = timeout and clock() + timeout
        while not closed and not room() do
            if not park(writers, until_ and math.max(0, until_ - clock())) and not room() then return false end
        end
        if closed then return false end
        items[#items + 1] = pack(value)
        wake_first(readers)
        return true
    end
    function channel.get(_, timeout)
        local until_ = timeout and clock() + timeout
        while #items == 0 and not closed do
            wake_first(writers)
            if not park(readers, until_ and math.max(0, until_ - clock())) and #items == 0 then return nil end
        end
        local item = remove(items, 1)
        wake_first(writers)
        return item and item[1]
    end
    function channel.close()
        closed = true
        wake_all(readers)
        wake_all(writers)
    end
    function channel.is_closed() return closed end
    function channel.size() return size end
    function channel.count() return #items end
    function channel.is_empty() return #items == 0 end
    function channel.is_full() return #items >= size end
    function channel.has_readers() return #readers > 0 end
    function channel.has_writers() return #writers > 0 end
    return raw_setmetatable(channel, { __kind = "map", __name = "channel" })
end

main.module = module
return main
