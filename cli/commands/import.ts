// `import`: pushes the lines of drain or export. Each batch has a key of its contents and place, so the same lines are
// pushed once.

import { command, flag, queueWord, text } from '../command.ts'
import { exitCodes } from '../failure.ts'
import { freshKey, importKey, readStored } from '../lines/item-lines.ts'
import type { LineItem } from '../lines/push-lines.ts'
import { accountSentence, pushBatches } from '../lines/push-lines.ts'
import { badLine, type Line, openInput } from '../lines/read-lines.ts'
import { progressBarOn } from '../terminal.ts'

export const importItems = command({
  name: 'import',
  summary: 'Pushes the JSON lines of drain or export, each with its priority',
  words: [queueWord],
  options: {
    file: text('F', 'read F instead of stdin'),
    again: flag('push also what an import of the same lines pushed before'),
  },
  notes: [
    'If it was cut off, repeat it with the same lines: it does not push again what it has pushed, for\n' +
      '24 hours (idempotencyTtl of the deployment). If there are more lines by then, it pushes the last\n' +
      'batch again, up to 1,000 items: it was shorter before. A push with a key costs one and a half\n' +
      'times as much. Items come to the end of the queue, with new ids and times. Of a\n' +
      'line, import reads "item" and "priority" and nothing else, so what it pushes is for now and does not\n' +
      'expire (unless the queue says so). It refuses the lines of scheduled, which are for later.',
  ],
  examples: ['pushpop import orders --file orders.jsonl'],
  async run({ given, words, io, isJson, interrupt, print, tell, target }) {
    const [queue = ''] = words
    const input = await openInput('import', given.file, io)
    let pushes = 0
    const account = await pushBatches({
      target: await target(),
      queue,
      source: input.name,
      items: storedItems(input.lines()),
      bytes: input.bytes,
      progress: progressBarOn(io.stderr, 'Importing'),
      interrupt,
      keyOf: (batch) => (given.again ? freshKey() : importKey(batch)),
      onPushed: async () => {
        pushes += 1
      },
    })
    const { added, before } = account
    const line = { queue, items_imported: added, items_imported_before: before, pushes }
    if (isJson) await print(JSON.stringify(line))
    else tell(accountSentence(account, (items) => `Imported ${items} into ${queue}`))
    return exitCodes.done
  },
})

async function* storedItems(lines: AsyncIterable<Line>): AsyncGenerator<LineItem> {
  for await (const { text: raw, number, offset } of lines) {
    const stored = readStored(raw)
    if (typeof stored === 'string') throw badLine(number, stored)
    yield { ...stored, line: number, offset, raw }
  }
}
