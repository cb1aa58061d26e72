import { expect, test } from 'vitest'
import { markdownTable, rowsOf, textTable } from '../../bench/report.ts'

const { info } = rowsOf('peers')
const rows = [
  info('times the best', 0.5),
  info('push, items/s', 1200, { column: 'theirs' }),
  info('push, items/s', 600, { column: 'ours' }),
  info('pop, items/s', 700, { column: 'theirs' }),
]

test('The bench shows what it measured of several things as one line a metric and one column a thing', () => {
  expect(textTable(rows).split('\n')).toEqual([
    '                measured  bar  aim',
    '',
    'peers',
    'times the best       0.5',
    '',
    '               theirs  ours',
    'push, items/s   1,200   600',
    'pop, items/s      700     –',
  ])
})

test('The page of the benchmark has the same matrix', () => {
  expect(markdownTable(rows)).toContain(
    [
      '|  | theirs | ours |',
      '| --- | ---: | ---: |',
      '| push, items/s | 1,200 | 600 |',
      '| pop, items/s | 700 | – |',
    ].join('\n'),
  )
})
