"""The admin shell: Lua with `box`, run in the client; every request goes over the wire."""
