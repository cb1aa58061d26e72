import type { RatePatternsAnswer } from '../../client/api-types.ts'
import { patternsCommand } from '../patterns-command.ts'
import { withRates } from '../target/open-rates.ts'
import { grouped } from '../terminal/amounts.ts'

export const ratePatterns = patternsCommand<RatePatternsAnswer['patterns'][number]>({
  name: 'rate-patterns',
  summary: 'Shows the rate limits of prefixes, or replaces them; asks first',
  notes: [
    'In the order in which they apply: the longest prefix first, and the empty one for all keys.\n' +
      'set replaces them all by {"patterns": [{"prefix", "max_requests", …}, …]}, as show --json\n' +
      'prints them, unless somebody else has replaced them meanwhile (exit code 4).',
  ],
  effect: 'limits of keys with these prefixes change at once',
  columns: [
    { title: 'REQUESTS', align: 'right' },
    { title: 'MILLIS', align: 'right' },
    { title: 'IN LINE', align: 'right' },
    { title: 'ALGORITHM' },
    { title: 'BURST', align: 'right' },
    { title: 'OVERRIDES' },
  ],
  rowOf: (pattern) => [
    grouped(pattern.max_requests),
    grouped(pattern.window_millis),
    grouped(pattern.max_requests_in_queue),
    pattern.algorithm,
    grouped(pattern.burst),
    pattern.allow_overrides ? 'allowed' : '',
  ],
  open: withRates,
})
