// `export`: copies all items of a queue as lines. The file and the note beside it always agree on a whole page, so an
// export that was cut off can go on.

import { PRIORITY_MAX } from '../../engine/core/limits.ts'
import { command, flag, integer, queueWord, text } from '../command.ts'
import { exitCodes, interrupted, wrongUsage } from '../failure.ts'
import { itemLine } from '../lines/item-lines.ts'
import {
  createLineFile,
  type ExportProgress,
  forgetProgress,
  keepProgress,
  type LineFile,
  progressFileOf,
  readProgress,
  reopenLineFile,
} from '../lines/line-file.ts'
import { pagesOf } from '../target/target.ts'
import { progressBarOn } from '../terminal.ts'
import { counted } from '../text.ts'

export const exportItems = command({
  name: 'export',
  summary: 'Copies all items into JSON lines and leaves them where they are',
  words: [queueWord],
  options: {
    file: text('F', 'write to F instead of stdout'),
    priority: integer('N', 0, PRIORITY_MAX, 'only these'),
    resume: flag('with --file: go on where an export into F was cut off'),
  },
  notes: [
    'A line is {"item", "priority", "id", "pushed_at", "deliveries", "state", …}, which import reads. Items that\n' +
      'are still for later are not in it: see scheduled.\n' +
      'The queue goes on: items that are taken or pushed meanwhile may or may not be in it.\n' +
      'F.progress says how far it has come, until it is done.',
  ],
  examples: [
    'pushpop export orders --file orders.jsonl',
    'pushpop export orders --file orders.jsonl --resume',
  ],
  async run({ given, words, io, isJson, interrupt, print, tell, target }) {
    const [queue = ''] = words
    const { file: name, priority, resume } = given
    if (resume && name === undefined)
      throw wrongUsage('Cannot resume because --resume needs --file')
    const queues = await target()
    const start: ExportProgress = { queue, bytes: 0, items: 0, priority }
    const from = resume && name !== undefined ? await progressOf(name, start) : start
    const file = name === undefined ? undefined : await openFile(name, from, resume === true)
    const bar = progressBarOn(io.stderr, 'Exporting')
    const { count } = await queues.inspect(queue)
    let { items, cursor } = from
    try {
      for await (const page of pagesOf(queues, queue, { priority, cursor })) {
        if (interrupt.aborted) break
        const lines = page.items.map(itemLine)
        if (file !== undefined) await file.write(lines)
        else if (lines.length > 0) await print(lines.join('\n'))
        items += lines.length
        cursor = page.cursor
        bar.at(items, priority === undefined ? count : undefined, counted(items, 'item'))
        if (file !== undefined && cursor !== undefined) {
          await keepProgress(file.name, { ...start, cursor, bytes: file.bytes, items })
        }
      }
    } finally {
      bar.clear()
      await file?.close()
    }
    if (interrupt.aborted) {
      const hint = name === undefined ? '' : '; --resume goes on'
      throw interrupted(`Stopped after ${counted(items, 'item')}${hint}.`)
    }
    if (name === undefined) {
      if (!isJson) tell(`Exported ${counted(items, 'item')} of ${queue}.`)
      return exitCodes.done
    }
    await forgetProgress(name)
    if (isJson) await print(JSON.stringify({ queue, items_exported: items, file: name }))
    else tell(`Exported ${counted(items, 'item')} of ${queue} into ${name}.`)
    return exitCodes.done
  },
})

async function progressOf(name: string, start: ExportProgress): Promise<ExportProgress> {
  const progress = await readProgress(name)
  if (progress === undefined) {
    throw wrongUsage(
      `Cannot resume because ${progressFileOf(name)} is not there: that export is done, or was ` +
        'cut off before its first page',
    )
  }
  if (progress.queue !== start.queue || progress.priority !== start.priority) {
    const what = progress.priority === undefined ? '' : `, priority ${progress.priority}`
    throw wrongUsage(`Cannot resume because ${name} is an export of ${progress.queue}${what}`)
  }
  return progress
}

const openFile = (name: string, from: ExportProgress, resume: boolean): Promise<LineFile> =>
  resume
    ? reopenLineFile(name, from.bytes)
    : createLineFile(name, '--resume goes on with an export that was cut off')
