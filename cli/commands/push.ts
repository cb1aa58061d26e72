// `push`: arguments or lines as items, in order. All lines of a batch are checked before it is sent.

import { DELAY_SECONDS_MAX, ITEM_TTL_SECONDS_MAX, PRIORITY_MAX } from '../../engine/core/limits.ts'
import { type Given, type GivenName, givenFields } from '../../shared/item-fields.ts'
import { msIn } from '../arguments.ts'
import { command, duration, flag, integer, type Option, queueWord, text } from '../command.ts'
import { exitCodes, wrongUsage } from '../failure.ts'
import { whyNoItem, whyTooLarge } from '../lines/item-lines.ts'
import type { Batch, LineItem } from '../lines/push-lines.ts'
import { accountSentence, pushBatches, THE_ARGUMENTS } from '../lines/push-lines.ts'
import { badLine, type Line, openInput } from '../lines/read-lines.ts'
import type { PushedOrAccepted } from '../target/target.ts'
import { progressBarOn } from '../terminal.ts'

/** The service takes 128; the number of the batch is appended. */
const KEY_CHARACTERS_MAX = 110
/** Long enough for lines that come in one go, short for a person who types one. */
const PIPE_IDLE_MS = 300

/** The option of each field that a push may give. The lines of a push are for now, so they expire by a time from now. */
const fieldOptions = {
  priority: ['priority', integer('N', 0, PRIORITY_MAX, '0 is served first, and is the default')],
  delaySeconds: [
    'delay',
    duration(0, DELAY_SECONDS_MAX, 'the items join the queue so much later: 90, 15m, 2h or 7d'),
  ],
  deliverAtMs: [
    'deliver-at',
    text('TIME', 'the items join the queue then, such as 2027-01-01T09:00Z'),
  ],
  expiresInSeconds: [
    'expires-in',
    duration(0, ITEM_TTL_SECONDS_MAX, 'no pop returns them this long after the push'),
  ],
  expiresAtMs: undefined,
} satisfies Readonly<Record<GivenName, readonly [string, Option] | undefined>>

const optionsOfFields: Readonly<Record<never, Option>> = Object.fromEntries(
  Object.values(fieldOptions).filter((one) => one !== undefined),
)

function fieldsGiven(given: Readonly<Record<string, unknown>>): Given {
  const valueIn = (name: GivenName) => given[fieldOptions[name]?.[0] ?? '']
  const fields: Record<string, unknown> = {}
  for (const { name, is, not } of givenFields) {
    const value = valueIn(name)
    if (value === undefined) continue
    const option = String(fieldOptions[name]?.[0])
    fields[name] = is === 'time' ? msIn('push', option, value as string) : value
    if (not === undefined || valueIn(not as GivenName) === undefined) continue
    const other = fieldOptions[not as GivenName]?.[0]
    throw wrongUsage(
      `Cannot push because --${other} and --${option} contradict each other: give one`,
    )
  }
  return fields
}

export const push = command({
  name: 'push',
  summary: 'Pushes items: arguments, or a file or stdin with one on each line',
  words: [queueWord, { name: 'ITEM', kind: 'text', optional: true, many: true }],
  options: {
    file: text('F', 'read lines from F; - is stdin'),
    text: flag('each argument or line is a text, not JSON'),
    ...optionsOfFields,
    async: flag('do not wait until it is in the queue: the service’s inbox applies it, in order'),
    key: text('K', 'an idempotency key: pushed once, however often this is repeated in 24 hours'),
  },
  notes: [
    'Items go in order, up to 1,000 and 2.5 MiB a push; each push is all or nothing. If a line is\n' +
      'not JSON, push names it and sends nothing of that batch.',
  ],
  examples: [
    `pushpop push orders '{"order": 17}' --priority 5`,
    'pushpop push orders --file orders.jsonl',
    'tail -f access.log | pushpop push log --text',
  ],
  async run({ given, words, io, isJson, interrupt, print, tell, target }) {
    const [queue = '', ...arguments_] = words
    if (given.file !== undefined && arguments_.length > 0) {
      throw wrongUsage('Cannot push because items and --file contradict each other: give one')
    }
    const fields = fieldsGiven(given)
    const key = checkedKey(given.key)
    const asItem = given.text ? textItem : jsonItem
    const lines =
      arguments_.length > 0
        ? { name: THE_ARGUMENTS, bytes: undefined, lines: () => linesOf(arguments_) }
        : await openInput('push', given.file, io)

    const account = await pushBatches({
      target: await target(),
      queue,
      source: lines.name,
      items: itemsOf(lines.lines(), asItem, fields),
      bytes: lines.bytes,
      progress: progressBarOn(io.stderr, 'Pushing'),
      interrupt,
      respondAsync: given.async === true,
      // The batches of a key must be the same when they come again.
      idleMs: lines.name === 'stdin' && key === undefined ? PIPE_IDLE_MS : undefined,
      keyOf: (_, index) => key && (index === 0 ? key : `${key}#${index + 1}`),
      onPushed: async (batch, pushed) => {
        if (isJson) await print(pushedLine(batch, pushed))
      },
    })
    if (!isJson) {
      const done = account.accepted ? `to the inbox, for ${queue}` : `to ${queue}`
      tell(accountSentence(account, (items) => `Pushed ${items} ${done}`))
    }
    return exitCodes.done
  },
})

async function* linesOf(words: readonly string[]): AsyncGenerator<Line> {
  for (const [index, text] of words.entries()) yield { text, number: index + 1, offset: 0 }
}

async function* itemsOf(
  lines: AsyncIterable<Line>,
  asItem: (line: Line) => string,
  fields: Given,
): AsyncGenerator<LineItem> {
  for await (const line of lines) {
    const { number, offset } = line
    yield { text: asItem(line), line: number, offset, ...fields }
  }
}

function jsonItem({ text, number }: Line): string {
  const item = text.trim()
  const why = whyNoItem(item)
  if (why !== undefined) throw badLine(number, why)
  return item
}

function textItem({ text, number }: Line): string {
  const item = JSON.stringify(text)
  const why = whyTooLarge(item)
  if (why !== undefined) throw badLine(number, why)
  return item
}

function checkedKey(key: string | undefined): string | undefined {
  if (key === undefined || /^[\x20-\x7e]+$/.test(key)) {
    if ((key?.length ?? 0) <= KEY_CHARACTERS_MAX) return key
  }
  throw wrongUsage(
    `Cannot push because --key must be 1 to ${KEY_CHARACTERS_MAX} printable ASCII characters`,
  )
}

const pushedLine = (
  { items, firstLine, lastLine }: Batch,
  { ids, repeated, messageId }: PushedOrAccepted,
): string =>
  JSON.stringify({
    ...(messageId === undefined
      ? { items_pushed: items.length, ids }
      : { accepted: items.length, message_id: messageId }),
    first_line: firstLine,
    last_line: lastLine,
    repeated,
  })
