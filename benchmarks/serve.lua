-- One graph per request for wrk (https://github.com/wg/wrk), as `stepwell serve` takes it:
--
--   head -1 graphs.jsonl > graph.json
--   wrk -t1 -c1 -d30s --latency -s benchmarks/serve.lua http://127.0.0.1:8080/predict -- graph.json
--
-- A number behind the file is the mean pause of a connection before a request, in milliseconds,
-- drawn from an exponential distribution; with one more, N, every N-th request is malformed.
-- Every answer is looked at: that of the
-- graph must always be the same, that of a malformed line a 400. Statuses and wrong answers are
-- counted and printed at the end.

local threads = {}

function setup(thread)
    table.insert(threads, thread)
end

function init(args)
    local file = assert(io.open(args[1] or "graph.json", "rb"))
    graph = file:read("*a")
    file:close()
    pause = tonumber(args[2]) or 0
    broken = tonumber(args[3])
    sent, right, refused, wrong, other = 0, 0, 0, 0, 0
    expected = nil
    local headers = { ["Content-Type"] = "application/x-ndjson" }
    good = wrk.format("POST", nil, headers, graph)
    bad = wrk.format("POST", nil, headers, string.sub(graph, 1, #graph / 2))
end

function request()
    sent = sent + 1
    if broken and sent % broken == 0 then
        return bad
    end
    return good
end

function delay()
    return math.floor(0.5 - pause * math.log(1 - math.random()))
end

function response(status, headers, body)
    if status == 200 then
        expected = expected or body
        if body == expected then right = right + 1 else wrong = wrong + 1 end
    elseif status == 400 and broken then
        refused = refused + 1
    else
        other = other + 1
    end
end

function done(summary, latency, requests)
    local total = { right = 0, refused = 0, wrong = 0, other = 0 }
    for _, thread in ipairs(threads) do
        for name in pairs(total) do
            total[name] = total[name] + thread:get(name)
        end
    end
    local errors = summary.errors
    io.write(string.format(
        "p50 %.2f ms, p90 %.2f ms, p99 %.2f ms, largest %.2f ms\n",
        latency:percentile(50) / 1000, latency:percentile(90) / 1000, latency:percentile(99) / 1000, latency.max / 1000
    ))
    io.write(string.format(
        "answered %d, refused as malformed %d, wrong %d, other statuses %d; connect %d, read %d, write %d, timeout %d\n",
        total.right, total.refused, total.wrong, total.other, errors.connect, errors.read, errors.write, errors.timeout
    ))
end
