"""Rules of ``agents.llm.wrappers.circuit`` as scripts that run in Valkey, by its clock."""

from __future__ import annotations

# Each script returns the seconds until a call is allowed, the failures so far, and 1 for a probe.
_BEGIN = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local saved = redis.call('HMGET', KEYS[1], 'openings', 'until', 'probe', 'probe_until', 'failures')
local openings, open_until = tonumber(saved[1] or 0), tonumber(saved[2] or 0)
local probe, probe_until = saved[3] or '', tonumber(saved[4] or 0)
local failures = {}
for at in string.gmatch(saved[5] or '', '%S+') do table.insert(failures, at) end
local function text(value) return string.format('%.6f', value) end
local function answer(wait, is_probe)
  if wait > 0 then wait = math.max(wait, 0.001) end
  return {text(wait), #failures, is_probe}
end
local function left()
  if openings == 0 then return 0 end
  return math.max(open_until - now, 0.001)
end
"""

# ARGV: name of the probe, its longest duration, wait of other calls for it; both in seconds.
ADMIT = (
    _BEGIN
    + """
if openings == 0 then return answer(0, 0) end
if now < open_until then return answer(open_until - now, 0) end
if probe ~= '' and now < probe_until then
  return answer(math.min(tonumber(ARGV[3]), probe_until - now), 0)
end
redis.call('HSET', KEYS[1], 'probe', ARGV[1], 'probe_until', text(now + tonumber(ARGV[2])))
return answer(0, 1)
"""
)

# ARGV: name of the probe or empty, failures that open the circuit, their window, first and longest
# opening, retention; all times in seconds.
FAILED = (
    _BEGIN
    + """
local mine = ARGV[1] ~= '' and ARGV[1] == probe
if openings > 0 and not mine then return answer(left(), 0) end
local recent = {}
for _, at in ipairs(failures) do
  if tonumber(at) > now - tonumber(ARGV[3]) then table.insert(recent, at) end
end
table.insert(recent, text(now))
failures = recent
if not mine and #failures < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'failures', table.concat(failures, ' '))
  redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(ARGV[3]) * 1000))
  return answer(0, 0)
end
open_until = now + math.min(tonumber(ARGV[5]), tonumber(ARGV[4]) * 2 ^ openings)
openings = math.min(openings + 1, 16)
failures = {}
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'openings', openings, 'until', text(open_until))
redis.call('PEXPIRE', KEYS[1], math.ceil((open_until - now + tonumber(ARGV[6])) * 1000))
return answer(open_until - now, 0)
"""
)

# ARGV: name of the probe or empty.
SUCCEEDED = (
    _BEGIN
    + """
if openings > 0 and (ARGV[1] == '' or ARGV[1] ~= probe) then return answer(left(), 0) end
redis.call('DEL', KEYS[1])
failures = {}
return answer(0, 0)
"""
)

# ARGV: name of the probe.
UNDECIDED = (
    _BEGIN
    + """
if ARGV[1] == probe then redis.call('HDEL', KEYS[1], 'probe', 'probe_until') end
return answer(left(), 0)
"""
)


def breaker_key(account: str) -> str:
    """Return the key of the account's hash in Valkey."""
    return f"heartbit:breaker:{account}"
