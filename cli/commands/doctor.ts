// `doctor`: recounts a queue on its table and bucket, tells what is wrong, and on request deletes what nothing can ever
// ask for again.

import { command, flag, queueWord } from '../command.ts'
import { type Examination, examine, openSurgery } from '../doctor/examine.ts'
import { type Finding, isStray, sentenceOf } from '../doctor/finding.ts'
import { repair } from '../doctor/strays.ts'
import { type ExitCode, exitCodes, interrupted, wrongUsage } from '../failure.ts'
import { awsOf, placeOf } from '../target/place.ts'
import { progressBarOn } from '../terminal.ts'
import { counted, grouped } from '../text.ts'

export const doctor = command({
  name: 'doctor',
  summary: 'Recounts a queue on its table and bucket, and repairs on request',
  words: [queueWord],
  options: {
    scan: flag('look through the whole table for stray rows, and pay for that'),
    repair: flag('delete strays that nothing can ever ask for again'),
  },
  notes: [
    'Needs --table and --bucket. Reads the record and every item that it says is there, scheduled ones\n' +
      'too, and lists the objects of the queue. It changes nothing without --repair, and with it deletes\n' +
      'only what belongs to lanes that are gone or segments that were trimmed, and large pushes in S3 that\n' +
      'nothing has referred to for a week. Exit code 5 if something is wrong and still is.',
  ],
  examples: [
    'pushpop doctor orders --table T --bucket B',
    'pushpop doctor orders --table T --bucket B --scan --repair',
  ],
  async run({ given, words, io, isJson, interrupt, print, tell, paint }) {
    const [queue = ''] = words
    const place = placeOf(given, io.env)
    if (place.kind !== 'store') {
      throw wrongUsage(
        'The doctor works on the store itself: give --table and --bucket (pushpop start --env FILE writes those ' +
          'of a local stack)',
      )
    }
    const surgery = openSurgery(place, awsOf(given))
    const bar = progressBarOn(io.stderr, `Examining ${queue}`)
    try {
      const examination = await examine(surgery, queue, {
        scan: given.scan === true,
        interrupt,
        onStep: (step, done, total) => bar.at(done, total, `${step} (${done})`),
      })
      bar.clear()
      if (interrupt.aborted) throw interrupted('Stopped before all was looked at.')
      const { findings, notes } = examination
      const strays = findings.filter(isStray)
      const repaired = given.repair ? await repair(surgery.engine, queue, strays) : 0
      if (isJson) await print(examinationJson(queue, examination, repaired))
      else {
        for (const finding of findings) await print(sentenceOf(finding))
        for (const note of notes) tell(paint('dim', note))
        tell(paint(findings.length === 0 ? 'green' : 'yellow', summaryOf(queue, examination)))
        if (given.repair) tell(`Repaired ${repaired} of ${findings.length}.`)
        else if (strays.some(({ repairable }) => repairable)) tell(repairHint(strays))
      }
      return exitCodeAfter(findings, repaired)
    } finally {
      bar.clear()
      surgery.close()
    }
  },
})

const repairHint = (strays: readonly { readonly repairable: boolean }[]): string =>
  `--repair would delete ${strays.filter(({ repairable }) => repairable).length} of them.`

/** A batch that may be a push under way is worth a line, but it is no fault. */
function exitCodeAfter(findings: readonly Finding[], repaired: number): ExitCode {
  const wrong = findings.filter((finding) => !isStray(finding) || finding.repairable)
  return wrong.length > repaired ? exitCodes.findings : exitCodes.done
}

function summaryOf(queue: string, examination: Examination): string {
  const { exists, findings, itemsCounted, scheduledCounted } = examination
  const later = scheduledCounted === 0 ? '' : ` and ${grouped(scheduledCounted)} for later`
  const what = exists
    ? `${queue}: ${counted(itemsCounted, 'item')}${later}`
    : `There is no queue ${queue} (an empty one is forgotten)`
  return findings.length === 0
    ? `${what}, nothing wrong.`
    : `${what}, ${counted(findings.length, 'finding')}.`
}

const examinationJson = (queue: string, examination: Examination, repaired: number): string =>
  JSON.stringify({
    queue,
    exists: examination.exists,
    items_counted: examination.itemsCounted,
    items_stored: examination.itemsStored,
    items_found: examination.itemsFound,
    scheduled_counted: examination.scheduledCounted,
    scheduled_found: examination.scheduledFound,
    findings: examination.findings.map((finding) => ({
      ...finding,
      sentence: sentenceOf(finding),
    })),
    repaired,
    notes: examination.notes,
  })
