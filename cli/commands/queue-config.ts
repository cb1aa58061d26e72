import type { QueuePatternsAnswer } from '../../client/api-types.ts'
import { patternsCommand } from '../patterns-command.ts'
import { withQueuePatterns } from '../target/queue-patterns.ts'
import { grouped } from '../terminal/amounts.ts'

type Pattern = QueuePatternsAnswer['patterns'][number]

export const queueConfig = patternsCommand<Pattern>({
  name: 'queue-config',
  summary: 'Shows the settings of prefixes of queues, or replaces them; asks first',
  notes: [
    'In the order in which they apply: the longest prefix first, and the empty one for all queues.\n' +
      "A queue's own settings replace those. set replaces them all by\n" +
      '{"patterns": [{"prefix", "max_deliveries", …}, …]}, as show --json prints them, unless\n' +
      'somebody else has replaced them meanwhile (exit code 4).',
  ],
  effect: 'queues with these prefixes change within some minutes',
  columns: [
    { title: 'SEGMENT', align: 'right' },
    { title: 'BUFFER', align: 'right' },
    { title: 'DELIVERIES', align: 'right' },
    { title: 'CAPACITY', align: 'right' },
    { title: 'TTL', align: 'right' },
    { title: 'EXPIRED' },
    { title: 'PUSHES' },
    { title: 'POPS' },
  ],
  rowOf: (pattern) => [
    grouped(pattern.segment_size),
    grouped(pattern.buffer_segments),
    pattern.max_deliveries === null ? '' : grouped(pattern.max_deliveries),
    pattern.capacity === null ? '' : grouped(pattern.capacity),
    pattern.item_ttl_seconds === null ? '' : `${grouped(pattern.item_ttl_seconds)} s`,
    pattern.expired ?? '',
    limit(pattern.push_limit),
    limit(pattern.pop_limit),
  ],
  open: withQueuePatterns,
})

const limit = (it: Pattern['push_limit']): string =>
  it === null ? '' : `${grouped(it.max_requests)} in ${grouped(it.window_millis)} ms`
