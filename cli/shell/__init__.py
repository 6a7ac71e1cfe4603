"""The admin shell: Lua with `box`, run here in the client; every question goes over the wire."""
