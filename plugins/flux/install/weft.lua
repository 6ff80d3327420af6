-- Flux's job shell, scheduler @SCHEDULER@: made by `weft init flux`, removed by `weft init flux --remove`.
--
-- Gives a job its network's variables on each of its nodes, and ends it where it has none. It runs as the job's user and enforces nothing: the NIC does.
local hook, dir = @HOOK@, @DIR@
local scheduler, slurm = @LABEL@, @SLURM@
local system = @URI@ -- the instance whose jobs have a prolog

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
-- The third result is that Weft only observes the job.
local function obey(lines, code)
    if code == 0 and #lines == 1 and lines[1] == "leave" then
        return true, nil, true
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
        local why = table.concat(said, "; ")
        if why == "" then
            why = "weft: " .. hook .. " on this node says nothing, exit code " .. tostring(code)
        end
        return false, why
    end
    for _, name in ipairs(unset) do
        shell.unsetenv(name)
    end
    for _, pair in ipairs(set) do
        shell.setenv(pair[1], pair[2])
    end
    for _, line in ipairs(said) do
        shell.log(line)
    end
    return true
end

-- around is the job by the jobs around it, and the outermost of them, which is the one that Weft knows.
local function around()
    local path = shell.getenv("FLUX_JOB_ID_PATH") or "/" .. tostring(shell.getenv("FLUX_JOB_ID"))
    return path, string.match(path, "^/([^/]+)"), string.match(path, "^/[^/]+$") == nil
end

local function environment()
    local path, outer, inner = around()
    local ours = not inner and os.getenv("FLUX_URI") == system
    local ok, why, leave = false, "weft: this job has no id", false
    if outer and (ours or inner) then
        local rank = inner and "" or tostring(shell.info.rank) -- the first shell prints the job's warnings
        local variables = { FLUX_JOB_ID = outer, FLUX_JOB_ID_PATH = path, WEFT_SHELL_RANK = rank }
        ok, why, leave = obey(call(variables, scheduler, "shell"))
    end
    if not ok and not ours then
        -- A Flux instance that Slurm, or a user, started: Slurm's job has the network, and its variables differ between nodes.
        if os.getenv("SLURM_JOB_ID") then
            local lines, code = call({ SLURM_PROCID = "" }, slurm, "taskprolog")
            if code == 0 and #lines == 0 then
                return -- Weft only observes Slurm's jobs
            end
            ok, why, leave = obey(lines, code)
        elseif not os.getenv("SLINGSHOT_VNIS") then
            return -- nobody around has a network of Weft's
        end
    end
    if not ok then
        shell.die(why)
        return false
    end
    if not leave and shell.getenv("FI_CXI_COLL_JOB_ID") then
        shell.setenv("FI_CXI_COLL_JOB_STEP_ID", path)
    end
end

-- over tells that the job has ended: here the multicast groups of a job within a job are given back, since a sub-instance has no epilog.
local function over()
    local path, outer = around()
    if outer and shell.info.rank == 0 and shell.getenv("FI_CXI_COLL_JOB_ID") then
        local lines, code = call({ FLUX_JOB_ID = outer, FLUX_JOB_ID_PATH = path }, scheduler, "shell-exit")
        if code ~= 0 then
            shell.log("weft: the end of this job could not be told: " .. table.concat(lines, "; "))
        end
    end
end

plugin.register {
    name = "weft",
    handlers = {
        { topic = "shell.post-init", fn = environment },
        { topic = "shell.exit", fn = over },
    },
}
