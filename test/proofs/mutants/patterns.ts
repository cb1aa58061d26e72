import { type Mutant, mutant, simulation, test } from './mutant.ts'

const patterns = 'engine/core/queue-patterns.ts'
const walk = 'engine/operations/sweeping/apply-patterns.ts'
const change = 'engine/operations/configuring/configure-patterns.ts'
const patternsTest = 'test/engine/queue-patterns.test.ts'

/** Settings of prefixes, which live in the records of queues. */
// biome-ignore format: a mutant is a row
export const patternMutants: readonly Mutant[] = [
  mutant('pattern-over-own-settings', '0028: a queue’s own settings go before its pattern',
    [patterns, "source.from === 'queue' || patternsRevision", 'patternsRevision'],
    simulation(40, 'patterned')),
  mutant('older-patterns-over-newer', '0028: newer patterns take the place of older ones',
    [patterns, '|| patternsRevision > patterns.revision', ''],
    test('test/engine/core/queue-patterns.test.ts')),
  mutant('pattern-for-a-dead-letter-queue', '0028: a dead-letter queue takes no pattern',
    [patterns, 'isDeadLetterQueue(queue) ? undefined : patternFor(patterns, queue)',
     'void isDeadLetterQueue ?? patternFor(patterns, queue)'], test(patternsTest, 'dead-letter')),
  mutant('first-push-past-its-pattern', '0022: no call gets by a limit',
    ['engine/operations/lanes/lanes.ts',
     'items === 0 || (configuration.pushLimit === undefined && items <= roomOf(configuration))',
     'items >= 0 || roomOf(configuration) > 0'], test(patternsTest, 'not even the first')),
  mutant('own-settings-begin-with-the-pattern', '0028: own settings count whole',
    ['engine/core/configuration.ts', "source.from === 'queue' ? settings : defaultSettings",
     "source.from === 'queue' ? settings : { ...defaultSettings, ...settings }"],
    test(patternsTest, 'keeps its own')),
  mutant('limit-of-a-pattern-has-no-revision', '0022: the row knows which limit is newer',
    ['engine/core/configuration.ts', 'revision + patternsRevision', 'revision + 0 * patternsRevision'],
    test(patternsTest, 'loses a limit')),
  mutant('walk-not-given-up', '0028: the walk of the newest patterns completes',
    ['engine/store/patterns-walk-update.ts',
     "if ('at' in next) {",
     "update.conditions.splice(0, 2, [...update.conditions, 'attribute_exists(pk)'].join(' OR '))\nif ('at' in next) {"],
    test(patternsTest, 'given up')),
  mutant('walk-begins-at-once', '0028: no process uses older patterns when the walk begins',
    [change, 'PATTERNS_KEPT_MS + 15_000', '0 * PATTERNS_KEPT_MS'],
    test(patternsTest, 'uses older patterns')),
  mutant('walk-never-comes-again', '0028: a later walk mends what the first could not',
    [walk, 'return isLast ? undefined : clock.nowMs() + pauseMs',
     'return isLast ? clock.nowMs() : undefined'], test(patternsTest, 'comes again puts right')),
  mutant('frozen-sweeper-writes', '0028: nobody writes by patterns that are history',
    [walk, 'dynamo: engine.dynamo.until(deadlineMs)', 'dynamo: (void deadlineMs, engine.dynamo)'],
    test(patternsTest, 'was frozen writes nothing')),
  mutant('given-back-by-older-patterns', '0028: who asks is told of the newest patterns',
    ['engine/operations/attempts/patterns.ts', 'engine.patterns.get(engine.clock.nowMs())',
     'engine.patterns.get()'], test(patternsTest, 'what it would have')),
  mutant('patterns-changed-twice', '§5.5 a lost answer is never guessed',
    [change, 'if (before.mark === mark) return patternsOf(before)', 'void mark'],
    test(patternsTest, 'answer was lost')),
]
