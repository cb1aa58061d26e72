import { readFileSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { importKey, itemLine, readStored, withItems } from '../../cli/lines/item-lines.ts'
import { writtenBefore } from '../../cli/lines/line-file.ts'
import { batchesOf, type LineItem } from '../../cli/lines/push-lines.ts'
import { LINE_BYTES_MAX, readLines } from '../../cli/lines/read-lines.ts'
import { barLine } from '../../cli/terminal.ts'
import { age, tableLines } from '../../cli/text.ts'
import { useFolder } from './places.ts'

const file = useFolder()

async function listed<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}
const linesOf = (...chunks: (string | Buffer)[]) =>
  listed(readLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk)))))

describe('lines', () => {
  test('are the same however their bytes arrive', async () => {
    const bytes = Buffer.from('"ä"\n\n  \n{"b": 2}\r\nlast')
    const whole = await linesOf(bytes)
    expect(whole).toEqual([
      { text: '"ä"', number: 1, offset: 0 },
      { text: '{"b": 2}', number: 4, offset: 9 },
      { text: 'last', number: 5, offset: 19 },
    ])
    for (let size = 1; size < bytes.length; size += 1) {
      const chunks: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
      expect(await linesOf(...chunks)).toEqual(whole)
    }
  })

  test('may begin with the mark that some editors leave', async () => {
    expect(await linesOf('\ufeff1\n2\n')).toMatchObject([{ text: '1' }, { text: '2' }])
  })

  test.each([
    { name: 'that are no UTF-8', chunks: ['1\n', Buffer.from([0xff, 0x0a])], says: 'not UTF-8' },
    {
      name: 'without an end',
      chunks: ['1\n', 'x'.repeat(LINE_BYTES_MAX + 1)],
      says: 'longer than',
    },
  ])('$name are refused by number', async ({ chunks, says }) => {
    await expect(linesOf(...chunks)).rejects.toMatchObject({
      number: 2,
      message: expect.stringContaining(says),
    })
  })
})

async function* itemsOf(...texts: string[]): AsyncGenerator<LineItem> {
  for (const [index, text] of texts.entries()) yield { text, line: index + 1, offset: index }
}

describe('batches', () => {
  test('hold a thousand items', async () => {
    const texts = Array.from({ length: 2_001 }, () => '1')
    const batches = await listed(batchesOf(itemsOf(...texts)))
    expect(batches.map(({ items }) => items.length)).toEqual([1_000, 1_000, 1])
    expect(batches[1]).toMatchObject({ firstLine: 1_001, lastLine: 2_000 })
  })

  test('hold a hundred priorities', async () => {
    async function* wide(): AsyncGenerator<LineItem> {
      for (let n = 0; n < 450; n += 1) yield { text: '1', priority: n >> 1, line: n + 1, offset: n }
    }
    const batches = await listed(batchesOf(wide()))
    expect(batches.map(({ items }) => items.length)).toEqual([200, 200, 50])
  })

  test('hold 2.5 MiB with what is around the items', async () => {
    const large = JSON.stringify('x'.repeat(256 * 1024 - 2))
    const batches = await listed(batchesOf(itemsOf(...Array.from({ length: 20 }, () => large))))
    expect(batches.map(({ items }) => items.length)).toEqual([9, 9, 2])
    for (const { items } of batches) {
      const body = `{"items":[${items.map(({ text }) => `{"item":${text},"priority":2147483647}`)}]}`
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(2.5 * 1024 * 1024)
    }
  })

  test('end when nothing has come for a while, if asked to', async () => {
    let release = () => {}
    const waiting = new Promise<void>((resolve) => {
      release = resolve
    })
    async function* slow(): AsyncGenerator<LineItem> {
      yield* itemsOf('1', '2')
      await waiting
      yield* itemsOf('3')
    }
    const batches = batchesOf(slow(), 10)
    expect((await batches.next()).value).toMatchObject({ items: [{ text: '1' }, { text: '2' }] })
    release()
    expect((await batches.next()).value).toMatchObject({ items: [{ text: '3' }] })
    expect((await batches.next()).done).toBe(true)
  })

  test('have a key of what is in them and where', async () => {
    const [first] = await listed(batchesOf(itemsOf('1', '2')))
    const [same] = await listed(batchesOf(itemsOf('1', '2')))
    const [other] = await listed(batchesOf(itemsOf('1', '3')))
    if (!first || !same || !other) throw new Error('no batch')
    expect(importKey(first)).toBe(importKey(same))
    expect(importKey(first)).not.toBe(importKey(other))
    const later = { ...first, items: first.items.map((item) => ({ ...item, offset: 99 })) }
    expect(importKey(later)).not.toBe(importKey(first))
    expect(importKey(first)).toMatch(/^import-[A-Za-z0-9_-]{43}$/)
  })
})

const item = { text: '1', id: 'a-0-0', priority: 3, pushedAtMs: 1_500, deliveries: 1 }

describe('a line of an item', () => {
  test('holds the item as it is, on one line', () => {
    const text = '{"b" :1.0,\r\n "a":"x\\ny"}'
    expect(itemLine({ ...item, text })).toBe(
      '{"item":{"b" :1.0,  "a":"x\\ny"},"priority":3,"id":"a-0-0","pushed_at":1.5,"deliveries":1}'.replace(
        '  "a"',
        '  "a"',
      ),
    )
    expect(withItems(['1.0', '[ ]'], { count: 2 })).toBe('{"items":[1.0,[ ]],"count":2}')
  })

  test('tells when an item that was pushed for later was due, and its id until then', () => {
    const later = { ...item, scheduledId: 't-s43qtc-0-AAAAAAAA', dueMs: 2_000, expiresAtMs: 9_000 }
    expect(JSON.parse(itemLine(later))).toEqual({
      ...{ item: 1, priority: 3, id: 'a-0-0', pushed_at: 1.5, deliveries: 1 },
      ...{ scheduled_id: 't-s43qtc-0-AAAAAAAA', due_at: 2, expires_at: 9 },
    })
  })

  test.each([
    [
      'is read, whatever else is in it',
      '{"item":1,"new":[{}],"priority":3,"due_at":1,"deliveries":0}',
    ],
    ['of a schedule has a time and no other id', itemLine({ ...item, dueMs: 2_000 })],
  ])('%s', (_, line) => {
    expect(readStored(line)).toEqual({ text: '1', priority: 3 })
  })

  test('of an item that is still for later is refused, because an import pushes for now', () => {
    const line = '{"item":1,"priority":0,"id":"t-a","pushed_at":1,"due_at":4102444800}'
    expect(readStored(line)).toBe(
      'it is an item for later, which import would push for now (see push --deliver-at)',
    )
  })

  test.each(['1.0', '1e400', '{"a":1,"a":2}', '"\\u00e4 \\" ,\\"id\\":"', '[[],{}]', 'null'])(
    'is read back as it was: %s',
    (text) => {
      const line = itemLine({ ...item, text, reason: 'because, "of" {this}' })
      expect(readStored(line)).toEqual({ text, priority: 3 })
    },
  )

  test('is found at the end of a file by its id, whatever the item holds', async () => {
    const name = file('before')
    const looksAlike = '{"item":{"x":1},"priority":0,"id":"no-0-0","pushed_at":1,"deliveries":1}'
    const lines = [
      itemLine({ ...item, id: 'one-0-0' }),
      itemLine({ ...item, id: 'two-0-0', text: looksAlike }),
      itemLine({ ...item, id: 'three-0-0', reason: 'a "quoted" } reason' }),
      itemLine({
        ...item,
        id: 'four-0-0',
        reason: 'x',
        deadLetteredAtMs: 1_500,
        priorDeliveries: 3,
      }),
      itemLine({ ...item, id: 'five-0-0', scheduledId: 't-b', dueMs: 1_500, expiresAtMs: 9_000 }),
      'no line of ours',
    ]
    writeFileSync(name, `${lines.join('\n')}\n{"item":`)
    const before = await writtenBefore(name)
    expect([...(before?.ids ?? [])]).toEqual([
      'one-0-0',
      'two-0-0',
      'three-0-0',
      'four-0-0',
      'five-0-0',
    ])
    expect(readFileSync(name).subarray(before?.bytes).toString()).toBe('{"item":')
    expect(await writtenBefore(file('none'))).toBeUndefined()
  })
})

describe('what is drawn', () => {
  test('a bar if there is an end, and a count if there is none', () => {
    expect(barLine('Pushing', 1, 4, '10 items')).toBe(
      'Pushing  ██████░░░░░░░░░░░░░░░░░░   25 %  10 items',
    )
    expect(barLine('Pushing', 1, undefined, '10 items')).toBe('Pushing  10 items')
  })

  test('a table whose cells cannot move the cursor', () => {
    const lines = tableLines(
      [{ title: 'N', align: 'right' }, { title: 'ITEM' }],
      [['12', 'a\u001b[2Jb']],
    )
    expect(lines).toEqual([' N  ITEM', '12  a\ufffd[2Jb'])
    expect(tableLines([{ title: 'ITEM' }], [['abcdef']], 4)).toEqual(['ITEM', 'abc…'])
  })

  test.each([
    [0, '0 s'],
    [59_999, '59 s'],
    [3_600_000, '1 h'],
    [200_000_000, '2 d'],
  ])('%d ms as %s', (ms, shown) => expect(age(ms)).toBe(shown))
})
