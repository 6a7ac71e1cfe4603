-- One Tarantool of three: a synchronous space on the first, the other two follow it. ID PORT PORT PORT
-- Before 2.6.1 there are no elections, and acknowledgements get lost when all follow all: a star.
local id = tonumber(arg[1])
local leader = '127.0.0.1:' .. arg[2]
box.cfg{
    listen = '127.0.0.1:' .. arg[1 + id], replication = id == 1 and {} or {leader}, read_only = id ~= 1,
    wal_mode = 'fsync', replication_synchro_quorum = 2, replication_synchro_timeout = 5,
    memtx_memory = 2 * 1024 ^ 3, net_msg_max = 2048, log = 'node.log', feedback_enabled = false,
}
if id == 1 then
    box.schema.user.grant('guest', 'super', nil, nil, {if_not_exists = true})
    local kv = box.schema.space.create('kv', {is_sync = true, if_not_exists = true})
    kv:create_index('pk', {parts = {{1, 'string'}}, if_not_exists = true})
end
function puts(keys, value)
    box.begin()
    for _, key in ipairs(keys) do box.space.kv:replace{key, value} end
    box.commit()
end
