-- Flux's job shell, scheduler @SCHEDULER@: made by `weft init flux`, removed by `weft init flux --remove`.
--
-- Gives a job its network's variables on each of its nodes, and ends it where it has none. It runs as the job's user and enforces nothing: the NIC does.
local hook, dir = @HOOK@, @DIR@
local scheduler = @LABEL@
-- The one question that tells the instance that Weft serves: whether the shell's broker is at this socket. Jobs of all
-- others have what their instance has.
local served = os.getenv("FLUX_URI") == @URI@

local function quote(text)
    return "'" .. string.gsub(text, "'", "'\\''") .. "'"
end

-- call runs weft-hook with variables before it, and gives its lines and its exit code. What it says on standard error is among the lines: older Luas tell no
-- exit code of a program, so its shell prints it last.
local function call(variables, ...)
    local words = { "exec 2>&1;" }
    for name, value in pairs(variables) do
        words[#words + 1] = name .. "=" .. quote(value) .. " && export " .. name .. ";"
    end
    words[#words + 1] = "GOMAXPROCS=1 " .. quote(hook) -- on one processor, for which Go starts faster
    if dir then
        words[#words + 1] = "--dir " .. quote(dir)
    end
    for _, word in ipairs({ ... }) do
        words[#words + 1] = quote(word)
    end
    words[#words + 1] = "; echo \"exit $?\""
    local lines, code = {}, nil
    local pipe = io.popen(table.concat(words, " "), "r")
    if pipe then
        for line in pipe:lines() do
            lines[#lines + 1] = line
        end
        pipe:close()
    end
    if #lines > 0 then
        code = tonumber(string.match(table.remove(lines), "^exit (%d+)$"))
    end
    return lines, code
end

-- obey puts what weft-hook said into the job's environment; false and why where it is no environment. Nothing is set unless all of it is understood.
local function obey(lines, code)
    if code == 0 and #lines == 1 and lines[1] == "leave" then
        return true -- Weft only observes the job
    end
    local unset, set, said = {}, {}, {}
    for _, line in ipairs(lines) do
        local name, value = string.match(line, "^export ([A-Z_][A-Z0-9_]*)=(.*)$")
        local gone = string.match(line, "^unset ([A-Z_][A-Z0-9_]*)$")
        if name then
            set[#set + 1] = { name, value }
        elseif gone then
            unset[#unset + 1] = gone
        else
            said[#said + 1] = string.match(line, "^print (.*)$") or line
        end
    end
    if code ~= 0 or #unset + #set == 0 then
        if code ~= 1 or #said == 0 then -- it died, for instance of a limit that the submitting shell handed on
            return false, "weft: " .. hook .. " ended with exit code " .. tostring(code) .. ": " .. (said[1] or "it says nothing")
                .. "; see whether a limit is too low that the submitting shell hands on (ulimit -a)"
        end
        return false, table.concat(said, "; ")
    end
    for _, name in ipairs(unset) do
        shell.unsetenv(name)
    end
    for _, pair in ipairs(set) do
        shell.setenv(pair[1], pair[2])
    end
    shell.setenv("WEFT_FROM", shell.getenv("FLUX_JOB_ID"))
    for _, line in ipairs(said) do
        shell.log(line)
    end
    return true
end

-- path names the job by the jobs around it.
local function path()
    return shell.getenv("FLUX_JOB_ID_PATH") or "/" .. tostring(shell.getenv("FLUX_JOB_ID"))
end

-- The variables that Weft gives a job, but for the path that stands for its step. WEFT_FROM names the job whose network
-- this is, for `weft env --show`.
local names = {
    "SLINGSHOT_VNIS", "SLINGSHOT_DEVICES", "SLINGSHOT_SVC_IDS", "SLINGSHOT_TCS", "FI_CXI_COLL_JOB_ID",
    "FI_CXI_COLL_MCAST_TOKEN", "FI_CXI_COLL_FABRIC_MGR_URL", "FI_CXI_HWCOLL_ADDRS_PER_JOB", "FI_CXI_HWCOLL_MIN_NODES",
    "WEFT_FROM",
}

-- around is what the broker on this node has of them. The shell's own environment is a copy of that of the instance's
-- first broker (job-exec, exec_cmd.c of flux-core 0.88), whose services are of another node. Empty: it has none, or is
-- not the user's.
local function around()
    local there, flux = pcall(require, "flux")
    local answer, why = nil, flux
    if there then
        local broker
        broker, why = flux.new()
        if broker then
            answer, why = broker:rpc("broker.getenv", { names = names })
        end
    end
    if answer then
        return answer.env
    end
    if os.getenv("SLINGSHOT_VNIS") then
        shell.log("weft: warning: this job lacks its instance's network, which the broker does not tell: " .. tostring(why))
    end
    return {}
end

local bits = { DEDICATED_ACCESS = 1, LOW_LATENCY = 2, BULK_DATA = 4, BEST_EFFORT = 8 }

-- vnis keeps the first ones of env. The most that a job can have anywhere is 4.
local function vnis(env, asked)
    local all = {}
    env.all = env.all or env.SLINGSHOT_VNIS
    for vni in string.gmatch(env.all or "", "[^,]+") do
        all[#all + 1] = vni
    end
    asked = tonumber(asked)
    if not asked or asked < 1 or asked > 4 or asked % 1 ~= 0 then
        return false
    end
    if asked > #all then
        return "lacks"
    end
    env.SLINGSHOT_VNIS = table.concat(all, ",", 1, asked)
    return true
end

-- tcs keeps these classes of env.
local function tcs(env, asked)
    local has, keeps, result = tonumber(env.SLINGSHOT_TCS) or 0, 0, true
    for class in string.gmatch(tostring(asked) .. ":", "([^:]*):") do
        local name = string.gsub(string.gsub(string.upper(class), "^CXI_TC_", ""), "^TC_", "")
        local bit = bits[name]
        if not bit then
            return false
        end
        if math.floor(has / bit) % 2 == 0 then
            result = "lacks"
        end
        if math.floor(keeps / bit) % 2 == 0 then
            keeps = keeps + bit
        end
    end
    env.SLINGSHOT_TCS = string.format("0x%x", keeps)
    return result
end

local function flag(value)
    value = string.lower(tostring(value))
    return (value == "1" or value == "true") or value ~= "0" and value ~= "false" and nil
end

local function off(_, value)
    local on = flag(value)
    return on and "off" or on == false
end

-- What a job can ask for in an instance that has its network already. Each function gives true where the job has what
-- it asks for, "off" where it wants nothing, "lacks" where its instance has too little, and false for a bad value.
local known = {
    slingshot = { off = off, no_vni = off, vnis = vnis, tcs = tcs, classes = tcs },
    ["cray-slingshot"] = {
        off = off,
        vnicount = function(env, value) return tonumber(value) == 0 and "off" or vnis(env, value) end,
    },
}

-- given are the keys and values of an option, and how its user wrote each: NAME.KEY=VALUE, NAME=KEY=VALUE or NAME=off.
local function given(name)
    local value, all = shell.options[name], {}
    if type(value) == "table" then
        for key, of in pairs(value) do
            all[#all + 1] = { key = key, value = of, as = name .. "." .. key .. "=" .. tostring(of) }
        end
    elseif value ~= nil then
        local key, of = string.match(tostring(value), "^([^=]+)=(.*)$")
        all[1] = { key = key or tostring(value), value = of or 1, as = name .. "=" .. tostring(value) }
    end
    return all
end

-- asked fits env to the options of the job's user: nil and the first one that it cannot fulfil, or env and whether the
-- user wants none of it. Off voids what the instance lacks, and no bad value, as it does in the instance that Weft serves.
local function asked(env)
    local none, lacks = false, nil
    for _, name in ipairs({ "cray-slingshot", "slingshot" }) do -- of vnicount and vnis the second counts
        local keys = known[name]
        for _, option in ipairs(given(name)) do
            local result = keys[option.key] and keys[option.key](env, option.value)
            if not result then
                return nil, option.as
            end
            none = none or result == "off"
            lacks = lacks or result == "lacks" and option.as
        end
    end
    if lacks and not none then
        return nil, lacks
    end
    return env, none
end

-- inherit gives a job the network of the instance around it, whoever started that.
local function inherit()
    local env = around()
    local has = "no VNI"
    if env.SLINGSHOT_VNIS then
        has = "VNIs " .. env.SLINGSHOT_VNIS .. " and classes " .. tostring(env.SLINGSHOT_TCS)
    end
    local gets, none = asked(env)
    if not gets then
        shell.die("weft: option -o " .. none .. ": the instance around this job has " .. has
            .. ": ask for it with the job that starts the instance; within it ask for off, fewer vnis or fewer tcs")
        return false
    end
    if none then
        gets = {}
    elseif not gets.SLINGSHOT_VNIS then
        return -- nobody around has a network
    end
    for _, name in ipairs(names) do
        if gets[name] then
            shell.setenv(name, gets[name])
        else
            shell.unsetenv(name)
        end
    end
    shell.unsetenv("FI_CXI_COLL_JOB_STEP_ID")
    if gets.FI_CXI_COLL_JOB_ID then
        shell.setenv("FI_CXI_COLL_JOB_STEP_ID", path())
    end
end

-- prepared gives a job of the instance that Weft serves what its prolog made on this node.
local function prepared()
    local id = shell.getenv("FLUX_JOB_ID")
    local ok, why = false, "weft: this job has no id"
    if id then
        ok, why = obey(call({
            FLUX_JOB_ID = id, FLUX_JOB_ID_PATH = path(),
            WEFT_SHELL_RANK = tostring(shell.info.rank), -- the first shell prints the job's warnings
        }, scheduler, "shell"))
    end
    if not ok then
        shell.die(why)
        return false
    end
end

plugin.register {
    name = "weft",
    handlers = { { topic = "shell.post-init", fn = served and prepared or inherit } },
}
