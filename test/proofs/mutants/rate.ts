// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { edit, type Killer, type Mutant, test } from './mutant.ts'

/** Deliberate faults in the rate limiter, each with what must notice it. */

const simulated: Killer = test(
  'test/proofs/rate-simulation/rate-simulation.test.ts',
  'keep every invariant',
)
const decision = 'rate/core/decision.ts'
const handOver = 'rate/core/hand-over.ts'
const ruler = 'rate/core/ruler.ts'
const slot = 'rate/store/slot-update.ts'
const take = 'rate/operations/take.ts'

export const rateMutants: readonly Mutant[] = [
  {
    name: 'a-slot-under-any-ruler',
    rule: 'a slot is issued once',
    edits: [
      edit(
        slot,
        'const sameRuler = `e=${update.value(condition.epochText)}`',
        'const sameRuler = `${update.value(condition.epochText)}<>c`',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'a-window-without-end',
    rule: 'at most max a window',
    edits: [
      edit(
        slot,
        '`c BETWEEN ${update.value(cursorMin)} AND ${update.value(cursorMax)}`',
        '`c>=${update.value(cursorMin)} AND ${update.value(cursorMax)}<>e`',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'a-slot-in-a-past-window',
    rule: 'never a slot in a past window',
    edits: [
      edit(
        decision,
        'const isOver = seen.cursor < floor',
        'const isOver = seen.cursor < floor - 3 * ask.rules.maxRequests',
      ),
      edit(decision, ': Math.max(floor, windowFrom(row, ask)),', ': windowFrom(row, ask),'),
    ],
    killers: [simulated],
  },
  {
    name: 'an-item-time-that-goes-back',
    rule: 'window start monotone',
    edits: [edit(slot, '? `t<=${update.value(atMs)}` :', '? `t<>${update.value(null)}` :')],
    killers: [simulated],
  },
  {
    name: 'a-slow-clock-is-believed',
    rule: 'no denial while there is room',
    edits: [edit(decision, 'const nowMs = Math.max(clockMs, row.atMs)', 'const nowMs = clockMs')],
    killers: [test('test/rate/core/decision.test.ts')],
  },
  {
    name: 'a-request-torn-in-two-windows',
    rule: 'a request is whole in one window',
    edits: [
      edit(
        ruler,
        'return used + cost <= maxRequests ? position',
        'return used < maxRequests ? position',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'a-blind-add-over-the-window-edge',
    rule: 'a request is whole in one window',
    edits: [
      edit(
        decision,
        'return windowFrom(row, ask) + maxRequests - ask.cost',
        'return windowFrom(row, ask) + maxRequests - 1',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'new-rules-forget-what-was-used',
    rule: 'at most max a window, across a change',
    edits: [
      edit(
        handOver,
        'cursor: widthOf(epoch, counted), overhang',
        'cursor: 0 * widthOf(epoch, counted), overhang',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'new-rules-forget-the-overhang',
    rule: 'at most max a window, across two changes',
    edits: [edit(handOver, '+ (window === 0 ? overhang : 0)', '+ (window === -1 ? overhang : 0)')],
    killers: [simulated, test('test/rate/core/hand-over.test.ts')],
  },
  {
    name: 'new-rules-begin-now',
    rule: 'order of arrival is order of turn, across a change',
    edits: [
      edit(
        handOver,
        'fromMs: startMs + window * rules.windowMs,',
        'fromMs: Math.min(nowMs, startMs + window * rules.windowMs),',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'new-rules-over-a-cursor-that-moved',
    rule: 'a change of rules knows the cursor',
    edits: [
      edit(
        decision,
        '        cursorMax,\n        orAbsent: false,\n        atMs: row.atMs,',
        '        cursorMax: cursorMax + 50,\n        orAbsent: false,\n        atMs: row.atMs,',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'the-same-ruler-twice',
    rule: 'two epochs never have the same text',
    edits: [
      edit(handOver, 'generation: row.epoch.generation + 1,', 'generation: row.epoch.generation,'),
    ],
    killers: [test('test/rate/core/hand-over.test.ts'), simulated],
  },
  {
    name: 'settings-and-patterns-under-one-revision',
    rule: 'a configured row stays',
    edits: [
      edit(
        'rate/core/epoch.ts',
        'const origin = configured ? `${revision}k` : String(revision)',
        'const origin = configured ? `${revision}` : String(revision)',
      ),
    ],
    killers: [test('test/rate/core/ruler.test.ts'), simulated],
  },
  {
    name: 'a-row-that-goes-before-its-promises',
    rule: 'a row outlives its promises',
    edits: [
      edit(
        decision,
        'const ttlPosition = skips ? position : condition.cursorMax',
        'const ttlPosition = skips ? position : row.cursor',
      ),
    ],
    killers: [test('test/rate/core/decision.test.ts'), simulated],
  },
  {
    name: 'a-row-that-goes-with-its-window',
    rule: 'a row outlives its promises, by any clock',
    edits: [edit('rate/core/row.ts', ' + idleMs + CLOCKS_APART_MAX_MS', ' + 0 * idleMs')],
    killers: [simulated],
  },
  {
    name: 'a-slot-that-comes-too-late',
    rule: 'nobody goes on a slot that is over',
    edits: [
      edit(
        take,
        'clockMs < overMs(epoch, position, cost) + LATE_SLOT_MS',
        'clockMs < overMs(epoch, position, cost) * LATE_SLOT_MS',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'denied-by-old-memory',
    rule: 'no denial while there is room',
    edits: [
      edit(
        'rate/operations/rate-engine.ts',
        'return clockMs - seenMs <= keptMs',
        'return clockMs - seenMs <= keptMs * 1_000',
      ),
    ],
    killers: [test('test/rate/engine/requests.test.ts'), simulated],
  },
  {
    name: 'a-place-given-up-twice',
    rule: 'only the last turn is given up, by its owner',
    edits: [
      edit(
        'rate/store/give-up-update.ts',
        "update.condition(giveUps === 0 ? 'attribute_not_exists(x)' : `x=${update.value(giveUps)}`)",
        'void giveUps',
      ),
    ],
    killers: [test('test/rate/engine/limits.test.ts', 'never taken from'), simulated],
  },
  {
    name: 'a-place-given-up-from-the-middle',
    rule: 'a promised turn is never another’s',
    edits: [
      edit('rate/store/give-up-update.ts', 'update.condition(`c=${', 'update.condition(`c>=${'),
    ],
    killers: [simulated],
  },
  {
    name: 'a-line-without-end',
    rule: 'waits are bounded',
    edits: [
      edit(
        decision,
        'canWait ? lastInLineAt(epoch, nowMs, cost, inLine)',
        'canWait ? lastInLineAt(epoch, nowMs, cost, 10 * inLine + 9_000)',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'a-clock-an-hour-off',
    rule: 'a clock far off changes nothing',
    edits: [
      edit(
        'rate/core/clocks.ts',
        'if (receivedMs === undefined) return',
        'if (receivedMs !== Number.NaN) return',
      ),
    ],
    killers: [test('test/rate/engine/limits.test.ts', 'off the gateway'), simulated],
  },
  {
    name: 'an-old-process-rules-again',
    rule: 'a revision never goes back',
    edits: [
      edit(
        take,
        'revision: Math.max(known.revision, row?.epoch.revision ?? 0),',
        'revision: known.revision,',
      ),
    ],
    killers: [simulated],
  },
  {
    name: 'who-waits-goes-at-once',
    rule: 'nobody goes before his turn',
    edits: [edit('rate/operations/admit.ts', 'if (leftMs <= 0) break', 'if (leftMs <= 500) break')],
    killers: [simulated],
  },
  {
    name: 'a-ticket-that-anybody-can-write',
    rule: 'tickets are signed',
    edits: [
      edit(
        'rate/core/ticket.ts',
        'return given.length === expected.length && timingSafeEqual(given, expected)',
        'return given.length === expected.length || timingSafeEqual(given, expected)',
      ),
    ],
    killers: [test('test/rate/core/ticket.test.ts')],
  },
  {
    name: 'everybody-asks-at-once',
    rule: 'a hot key costs its limit in writes',
    edits: [
      edit(
        'rate/operations/turnstile.ts',
        'return underWay < Math.max(1, room) || stepsBack >= STEPS_BACK_MAX',
        'return underWay < Math.max(1e9, room) || stepsBack >= STEPS_BACK_MAX',
      ),
    ],
    killers: [test('test/rate/engine/requests.test.ts', 'a thousand calls')],
  },
  {
    name: 'everybody-begins-the-window',
    rule: 'a decision costs one write',
    edits: [
      edit(
        take,
        'begun: attempt === 1 && seen?.shared === true',
        'begun: attempt === 0 && seen?.shared === true',
      ),
    ],
    killers: [test('test/rate/engine/requests.test.ts', 'not so hot')],
  },
  {
    name: 'a-hung-call-is-waited-for',
    rule: 'waits are bounded',
    edits: [
      edit('rate/operations/turnstile.ts', 'const HUNG_MS = 2_000', 'const HUNG_MS = 2_000_000'),
    ],
    killers: [test('test/rate/engine/requests.test.ts', 'a call that hangs')],
  },
  {
    name: 'a-new-secret-signs-at-once',
    rule: 'a ticket is good for every process',
    edits: [
      edit(
        'rate/core/secrets.ts',
        'signsFromMs: nowMs + SECRET_SETTLES_MS,',
        'signsFromMs: nowMs,',
      ),
    ],
    killers: [test('test/rate/engine/secret.test.ts', 'signs when every process has read it')],
  },
  {
    name: 'a-secret-is-changed-by-the-operators-clock',
    rule: 'a ticket is good for every process',
    edits: [
      edit(
        'rate/store/store-time.ts',
        'nowMs: () => clock.nowMs() + aheadMs,',
        'nowMs: () => clock.nowMs() + 0 * aheadMs,',
      ),
    ],
    killers: [test('test/rate/engine/store-time.test.ts')],
  },
  {
    name: 'a-secret-is-read-once-for-all',
    rule: 'a ticket is good for every process',
    edits: [
      edit(
        'rate/operations/table-secrets.ts',
        'Math.abs(nowMs - known.startedMs) <= SECRETS_KEPT_MS',
        'Math.abs(nowMs - known.startedMs) <= 1_000 * SECRETS_KEPT_MS',
      ),
    ],
    killers: [test('test/rate/engine/secret.test.ts', 'signs when every process has read it')],
  },
  {
    name: 'a-forgotten-secret-comes-back',
    rule: 'what is forgotten is void',
    edits: [
      edit(
        'rate/operations/change-secrets.ts',
        "`s=:seen AND ${former.length === 0 ? 'attribute_not_exists' : 'attribute_exists'}(f)`",
        "`s=:seen AND ${former.length < 0 ? 'attribute_not_exists' : 'attribute_exists'}(s)`",
      ),
    ],
    killers: [test('test/rate/engine/secret.test.ts', 'brings none back')],
  },
  {
    name: 'a-call-is-held-as-long-as-it-asks',
    rule: 'held calls are bounded',
    edits: [
      edit(
        'http/endpoints/rate.ts',
        'maxWaitMs: Math.min(maxWaitMs, holdMsMax),',
        'maxWaitMs: Math.max(maxWaitMs, holdMsMax),',
      ),
    ],
    killers: [test('test/http/rate.test.ts', 'is not held for longer')],
  },
]
