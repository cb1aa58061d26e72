// Where somebody looks on: questions, progress, the other screen; and what only the engine can set up.

import { beforeAll, describe, expect, test } from 'vitest'
import type { Queues } from '../../engine/queues.ts'
import { startStore, usePlace } from './places.ts'

const { place, queue, pushpop } = usePlace(startStore)
let queues: Queues
beforeAll(() => {
  queues = place().store.queues
})

describe('purge', () => {
  test.each([
    { typed: (q: string) => `${q}\n`, code: 0, left: 0, says: 'Deleted 2 items' },
    { typed: () => 'yes\n', code: 4, left: 2, says: 'Nothing was deleted' },
    { typed: () => '', code: 130, left: 2, says: 'Nothing was deleted' },
  ])('asks for the name: $says, $code', async ({ typed, code, left, says }) => {
    const q = queue()
    await pushpop(`push ${q} 1 2`)
    const purged = await pushpop(`purge ${q}`, { isTTY: true, stdin: typed(q) })
    expect(purged).toMatchObject({ code, stdout: '' })
    expect(purged.stderr).toContain(`This deletes 2 items of`)
    expect(purged.stderr).toContain(says)
    expect((await queues.inspect(q, { consistent: true })).count).toBe(left)
  })
})

describe('stats --watch', () => {
  test('draws on the other screen, again and again, and gives the first one back', async () => {
    const q = queue()
    await pushpop(`push ${q} 1`)
    const ending = new AbortController()
    let drawn = 0
    const { code, stdout } = await pushpop(`stats ${q} --watch --every 1`, {
      isTTY: true,
      interrupt: ending.signal,
      onStdout(text) {
        drawn += text.includes('Ctrl-C ends it') ? 1 : 0
        if (drawn === 2) ending.abort()
      },
    })
    expect(code).toBe(0)
    expect(stdout.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true)
    expect(stdout.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true)
    expect(stdout.match(new RegExp(`${q} +0 +1 `, 'g'))).toHaveLength(2)
  })

  test('prints a line each time as JSON', async () => {
    const q = queue()
    const ending = new AbortController()
    let lines = 0
    const { stdout } = await pushpop(`stats ${q} --watch --every 1 --json`, {
      interrupt: ending.signal,
      onStdout() {
        lines += 1
        if (lines === 2) ending.abort()
      },
    })
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).queues[0].id),
    ).toEqual([q, q])
  })
})

test('Progress is drawn where somebody looks on, and taken away.', async () => {
  const q = queue()
  const stdin = Array.from({ length: 2_000 }, (_, n) => `${n}\n`).join('')
  const { stderr } = await pushpop(`push ${q}`, { stdin: '1' })
  expect(stderr).toBe(`Pushed 1 item to ${q}.\n`)
  const drawn = await pushpop(`push ${q} --file -`, { stdin, isTTY: true })
  expect(drawn.stderr).toContain('\r\u001b[2KPushing  1,000 items')
  expect(drawn.stderr.endsWith(`\r\u001b[2KPushed 2,000 items to ${q}.\n`)).toBe(true)
})

test('Redrive moves what was dead-lettered back, in as many calls as it takes.', async () => {
  const q = queue()
  await queues.push(q, { items: Array.from({ length: 120 }, (_, n) => ({ text: `${n}` })) })
  for (let batch = 0; batch < 2; batch += 1) {
    const popped = await queues.pop(q, { count: 60, requireAck: true })
    const lockId = popped.kind === 'items' ? popped.lock?.id : undefined
    await queues.deadLetter(q, { lockId: lockId ?? '', reason: 'bad' })
  }
  await queues.housekeep(q)
  const some = await pushpop(`redrive ${q} --limit 20`)
  expect(some).toEqual({
    code: 0,
    stdout: '',
    stderr: `Moved 20 items back to ${q}; 100 items left.\n`,
  })
  const rest = await pushpop(`redrive ${q}-deadletter --json`)
  expect(JSON.parse(rest.stdout)).toMatchObject({ items_redriven: 100, items_left: 0 })
  const { stdout } = await pushpop(`pop ${q} --count 3`)
  expect(stdout).toBe('0\n1\n2\n')
  const nothing = await pushpop(`redrive ${q}.nope`)
  expect(nothing.stderr).toBe(
    `Moved 0 items back to ${q}.nope: ${q}.nope-deadletter is empty, or there is no such queue.\n`,
  )
})
