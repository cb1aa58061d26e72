// biome-ignore-all lint/suspicious/noTemplateCurlyInString: patches are text of source code
import { type Mutant, mutant, test } from './mutant.ts'

const slotUpdate = 'rate/store/slot-update.ts'
const decision = 'rate/core/slot-plan.ts'
const handOver = 'rate/core/hand-over.ts'
const take = 'rate/operations/take.ts'
const rateSimulationTest = 'test/proofs/rate-simulation/rate-simulation.test.ts'
const requestsTest = 'test/rate/engine/requests.test.ts'
const secretTest = 'test/rate/engine/secret.test.ts'

/** Deliberate faults in the rate limiter, each with what must notice it. */
export const rateMutants: readonly Mutant[] = [
  mutant(
    'a-slot-under-any-ruler',
    'a slot is issued once',
    [
      slotUpdate,
      'const sameRuler = `e=${update.value(condition.epochText)}`',
      'const sameRuler = `${update.value(condition.epochText)}<>c`',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-window-without-end',
    'at most max a window',
    [
      slotUpdate,
      '`c BETWEEN ${update.value(cursorMin)} AND ${update.value(cursorMax)}`',
      '`c>=${update.value(cursorMin)} AND ${update.value(cursorMax)}<>e`',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-slot-in-a-past-window',
    'never a slot in a past window',
    [
      [
        decision,
        'const isOver = seen.cursor < floor',
        'const isOver = seen.cursor < floor - 3 * ask.rules.maxRequests',
      ],
      [decision, ': Math.max(floor, windowFrom(row, ask)),', ': windowFrom(row, ask),'],
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'an-item-time-that-goes-back',
    'window start monotone',
    [slotUpdate, '? `t<=${update.value(atMs)}` :', '? `t<>${update.value(null)}` :'],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-slow-clock-is-believed',
    'no denial while there is room',
    [decision, 'const nowMs = Math.max(clockMs, row.atMs)', 'const nowMs = clockMs'],
    test('test/rate/core/decision.test.ts'),
  ),
  mutant(
    'a-request-torn-in-two-windows',
    'a request is whole in one window',
    [
      'rate/core/ruler.ts',
      'return used + cost <= maxRequests ? position',
      'return used < maxRequests ? position',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-blind-add-over-the-window-edge',
    'a request is whole in one window',
    [
      decision,
      'return windowFrom(row, ask) + maxRequests - ask.cost',
      'return windowFrom(row, ask) + maxRequests - 1',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'new-rules-forget-what-was-used',
    'at most max a window, across a change',
    [
      handOver,
      'cursor: widthOf(epoch, counted), overhang',
      'cursor: 0 * widthOf(epoch, counted), overhang',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'new-rules-forget-the-overhang',
    'at most max a window, across two changes',
    [handOver, '+ (window === 0 ? overhang : 0)', '+ (window === -1 ? overhang : 0)'],
    test(rateSimulationTest, 'keep every invariant'),
    test('test/rate/core/hand-over.test.ts'),
  ),
  mutant(
    'new-rules-begin-now',
    'order of arrival is order of turn, across a change',
    [
      handOver,
      'fromMs: startMs + window * rules.windowMs,',
      'fromMs: Math.min(nowMs, startMs + window * rules.windowMs),',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'new-rules-over-a-cursor-that-moved',
    'a change of rules knows the cursor',
    [
      decision,
      'cursorMax, orAbsent: false, atMs: row.atMs,',
      `cursorMax: cursorMax + 50,
orAbsent: false,
atMs: row.atMs,`,
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'the-same-ruler-twice',
    'two epochs never have the same text',
    [handOver, 'generation: row.epoch.generation + 1,', 'generation: row.epoch.generation,'],
    test('test/rate/core/hand-over.test.ts'),
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'settings-and-patterns-under-one-revision',
    'a configured row stays',
    [
      'rate/core/epoch.ts',
      'const origin = configured ? `${revision}k` : String(revision)',
      'const origin = configured ? `${revision}` : String(revision)',
    ],
    test('test/rate/core/ruler.test.ts'),
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-row-that-goes-before-its-promises',
    'a row outlives its promises',
    [
      decision,
      'const ttlPosition = skips ? position : condition.cursorMax',
      'const ttlPosition = skips ? position : row.cursor',
    ],
    test('test/rate/core/decision.test.ts'),
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-row-that-goes-with-its-window',
    'a row outlives its promises, by any clock',
    ['rate/core/row.ts', '+ idleMs + CLOCKS_APART_MAX_MS', '+ 0 * idleMs'],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-slot-that-comes-too-late',
    'nobody goes on a slot that is over',
    [
      take,
      'clockMs < overMs(epoch, position, cost) + LATE_SLOT_MS',
      'clockMs < overMs(epoch, position, cost) * LATE_SLOT_MS',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'denied-by-old-memory',
    'no denial while there is room',
    [
      'rate/operations/rate-engine.ts',
      'return clockMs - seenMs <= keptMs',
      'return clockMs - seenMs <= keptMs * 1_000',
    ],
    test(requestsTest),
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-place-given-up-twice',
    'only the last turn is given up, by its owner',
    [
      'rate/store/give-up-update.ts',
      "update.condition(giveUps === 0 ? 'attribute_not_exists(x)' : `x=${update.value(giveUps)}`)",
      'void giveUps',
    ],
    test('test/rate/engine/limits.test.ts', 'never taken from'),
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-place-given-up-from-the-middle',
    'a promised turn is never another’s',
    ['rate/store/give-up-update.ts', 'update.condition(`c=${', 'update.condition(`c>=${'],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-line-without-end',
    'waits are bounded',
    [
      decision,
      'canWait ? lastInLineAt(epoch, nowMs, cost, inLine)',
      'canWait ? lastInLineAt(epoch, nowMs, cost, 10 * inLine + 9_000)',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-clock-an-hour-off',
    'a clock far off changes nothing',
    [
      'rate/core/clocks.ts',
      'if (receivedMs === undefined) return',
      'if (receivedMs !== Number.NaN) return',
    ],
    test('test/rate/engine/limits.test.ts', 'off the gateway'),
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'an-old-process-rules-again',
    'a revision never goes back',
    [
      take,
      'revision: Math.max(known.revision, row?.epoch.revision ?? 0),',
      'revision: known.revision,',
    ],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'who-waits-goes-at-once',
    'nobody goes before his turn',
    ['rate/operations/admit.ts', 'if (leftMs <= 0) break', 'if (leftMs <= 500) break'],
    test(rateSimulationTest, 'keep every invariant'),
  ),
  mutant(
    'a-ticket-that-anybody-can-write',
    'tickets are signed',
    [
      'rate/core/ticket.ts',
      'return given.length === expected.length && timingSafeEqual(given, expected)',
      'return given.length === expected.length || timingSafeEqual(given, expected)',
    ],
    test('test/rate/core/ticket.test.ts'),
  ),
  mutant(
    'everybody-asks-at-once',
    'a hot key costs its limit in writes',
    [
      'rate/operations/turnstile.ts',
      'return underWay < Math.max(1, room) || stepsBack >= STEPS_BACK_MAX',
      'return underWay < Math.max(1e9, room) || stepsBack >= STEPS_BACK_MAX',
    ],
    test(requestsTest, 'a thousand calls'),
  ),
  mutant(
    'everybody-begins-the-window',
    'a decision costs one write',
    [
      take,
      'begun: attempt === 1 && seen?.shared === true',
      'begun: attempt === 0 && seen?.shared === true',
    ],
    test(requestsTest, 'not so hot'),
  ),
  mutant(
    'a-hung-call-is-waited-for',
    'waits are bounded',
    ['rate/operations/turnstile.ts', 'const HUNG_MS = 2_000', 'const HUNG_MS = 2_000_000'],
    test(requestsTest, 'a call that hangs'),
  ),
  mutant(
    'a-new-secret-signs-at-once',
    'a ticket is good for every process',
    ['rate/core/secrets.ts', 'signsFromMs: nowMs + SECRET_SETTLES_MS,', 'signsFromMs: nowMs,'],
    test(secretTest, 'signs when every process has read it'),
  ),
  mutant(
    'a-secret-is-read-once-for-all',
    'a ticket is good for every process',
    [
      'rate/operations/table-secrets.ts',
      'Math.abs(nowMs - known.startedMs) <= SECRETS_KEPT_MS',
      'Math.abs(nowMs - known.startedMs) <= 1_000 * SECRETS_KEPT_MS',
    ],
    test(secretTest, 'signs when every process has read it'),
  ),
  mutant(
    'a-forgotten-secret-comes-back',
    'what is forgotten is void',
    [
      'rate/operations/change-secrets.ts',
      "`s=:seen AND ${former.length === 0 ? 'attribute_not_exists' : 'attribute_exists'}(f)`",
      "`s=:seen AND ${former.length < 0 ? 'attribute_not_exists' : 'attribute_exists'}(s)`",
    ],
    test(secretTest, 'brings none back'),
  ),
  mutant(
    'a-call-is-held-as-long-as-it-asks',
    'held calls are bounded',
    [
      'http/endpoints/rate.ts',
      'maxWaitMs: Math.min(maxWaitMs, holdMsMax),',
      'maxWaitMs: Math.max(maxWaitMs, holdMsMax),',
    ],
    test('test/http/rate.test.ts', 'is not held for longer'),
  ),
  mutant(
    'a-secret-is-changed-by-the-operators-clock',
    'a ticket is good for every process',
    [
      'rate/store/store-time.ts',
      'nowMs: () => clock.nowMs() + aheadMs,',
      'nowMs: () => clock.nowMs() + 0 * aheadMs,',
    ],
    test('test/rate/engine/store-time.test.ts'),
  ),
]
