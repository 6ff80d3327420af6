-- What flux-shell(1) gives to a plugin in Lua, as far as Weft's uses it (flux-shell-initrc(5)): a job's environment comes in as arguments NAME=VALUE, and what
-- came of it goes out as lines. shell.die ends the job, and does not return. An argument -o NAME=VALUE or -o NAME.KEY=VALUE is an option of the job's user.
-- What the broker's environment has is that of this process with BROKER_ before each name; a broker of another user refuses (BROKER=guest), and without
-- Flux's module nobody can ask it (BROKER=none).
local file, rank = arg[1], tonumber(arg[2])
local env, options, handlers = {}, {}, {}
for i = 3, #arg do
    local option, word = string.match(arg[i], "^%-o ([^=]+)=(.*)$")
    local name, value = string.match(arg[i], "^([^=]+)=(.*)$")
    if option then
        local own, key = string.match(option, "^([^.]+)%.(.+)$")
        if key then
            options[own] = options[own] or {}
            options[own][key] = tonumber(word) or word
        else
            options[option] = word
        end
    else
        env[name] = value
    end
end
local broker = os.getenv("BROKER")
if broker ~= "none" then
    package.preload.flux = function()
        return { new = function()
            return { rpc = function(_, topic, ask)
                if topic ~= "broker.getenv" or broker == "guest" then return nil, "Operation not permitted" end
                local has = {}
                for _, name in ipairs(ask.names) do has[name] = os.getenv("BROKER_" .. name) end
                return { env = has }
            end }
        end }
    end
end
local died = {}
shell = {
    info = { rank = rank },
    options = options,
    getenv = function(name) return env[name] end,
    setenv = function(name, value) env[name] = value end,
    unsetenv = function(name) env[name] = nil end,
    log = function(text) print("log " .. text) end,
    die = function(text) print("die " .. text) error(died) end,
}
plugin = { register = function(p)
    for _, h in ipairs(p.handlers) do handlers[h.topic] = h.fn end
end }
dofile(file)
for _, topic in ipairs({ "shell.init", "shell.post-init", "shell.exit" }) do
    local ok, result = true, nil
    if handlers[topic] then ok, result = pcall(handlers[topic]) end
    if not ok and result ~= died then print("error " .. tostring(result)) end
    if not ok or result == false then os.exit(1) end
end
local names = {}
for name in pairs(env) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do print(name .. "=" .. env[name]) end
