import { flag, integer, text } from '../arguments/option-table.ts'
import { queueWord } from '../arguments/read-words.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { explain } from '../explain.ts'
import { Failure, interrupted, wrongUsage } from '../failure.ts'
import { drainQueue } from '../lines/drain-queue.ts'
import { createLineFile, type LineFile, reopenLineFile } from '../lines/line-file.ts'
import { itemLine } from '../lines/write-item.ts'
import { writtenBefore } from '../lines/written-before.ts'
import { counted } from '../terminal/amounts.ts'
import { progressBarOn } from '../terminal/progress-bar.ts'
import { tellWait } from '../terminal/tell-wait.ts'

/** Effectively unlimited; the option needs a maximum. */
const LIMIT_MAX = 1_000_000_000_000

export const drain = command({
  name: 'drain',
  summary: 'Takes all items and writes them as JSON lines; nothing is lost on the way',
  words: [queueWord],
  options: {
    file: text('F', 'write to F instead of stdout'),
    append: flag('with --file: add to what F holds'),
    limit: integer('N', 1, LIMIT_MAX, 'how many at most'),
    competing: flag('pass over items that others have locked'),
  },
  notes: [
    'A line is {"item", "priority", "id", "pushed_at", "deliveries"}, which import reads. Items are\n' +
      'acknowledged when their lines are written and, in a file, on the disk. If you kill it in between, up to\n' +
      '100 of them are in both: with --append the next run leaves out what F has already.',
  ],
  examples: [
    'pushpop drain orders --file orders.jsonl',
    'pushpop drain orders-deadletter | jq .item',
  ],
  async run({ given, words, io, isJson, interrupt, print, tell, target }) {
    const [queue = ''] = words
    if (given.append && given.file === undefined) {
      throw wrongUsage('Cannot drain because --append needs --file')
    }
    const queues = await target()
    const output = await openOutput(given.file, given.append === true)
    const progress = progressBarOn(io.stderr, 'Draining')
    let drained = 0
    try {
      await drainQueue({
        target: queues,
        queue,
        limit: given.limit ?? LIMIT_MAX,
        competing: given.competing === true,
        interrupt,
        async write(items) {
          if (output === undefined) return print(items.map(itemLine).join('\n'))
          const fresh = items.filter(({ id }) => !output.known.has(id))
          await output.file.write(fresh.map(itemLine))
        },
        onDrained(count) {
          drained = count
          progress.at(count, given.limit, counted(count, 'item'))
        },
        onWait({ message, retryAfterMs }) {
          progress.clear()
          if (!isJson) tellWait(tell, message, retryAfterMs)
        },
      })
      progress.clear()
      const sentence = `Drained ${counted(drained, 'item')} of ${queue}`
      if (interrupt.aborted) throw interrupted(`Stopped. ${sentence}; the rest is still there.`)
      // Items go to stdout. If they go to a file instead, stdout is free for the report.
      if (isJson && given.file !== undefined) {
        await print(JSON.stringify({ queue, items_drained: drained, file: given.file }))
      } else if (!isJson) {
        tell(given.file === undefined ? `${sentence}.` : `${sentence} into ${given.file}.`)
      }
      return exitCodes.done
    } catch (error) {
      const { exitCode, sentence, code } = explain(error)
      const isTold = exitCode === exitCodes.interrupted || exitCode === exitCodes.readerGone
      if (drained === 0 || isTold) throw error
      throw new Failure(
        exitCode,
        `${sentence}. Drained before: ${counted(drained, 'item')} of ${queue}; the rest is still there.`,
        { code, cause: error instanceof Failure ? error.cause : error },
      )
    } finally {
      progress.clear()
      await output?.file.close()
    }
  },
})

type Output = { readonly file: LineFile; readonly known: ReadonlySet<string> }

async function openOutput(name: string | undefined, append: boolean): Promise<Output | undefined> {
  if (name === undefined) return undefined
  const before = append ? await writtenBefore(name) : undefined
  if (before !== undefined) {
    return { file: await reopenLineFile(name, before.bytes), known: before.ids }
  }
  const hint = '--append goes on behind what it holds'
  return { file: await createLineFile(name, hint), known: new Set() }
}
