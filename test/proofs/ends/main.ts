// Ends the local stack at 40 random moments, and starts it again: node test/proofs/ends/main.ts

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runEnds } from './run-ends.ts'

/** A person who has mended something looks so long before something seems wrong. */
const LONGEST_MS_MAX = 10_000

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '40' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const folder = mkdtempSync(join(tmpdir(), 'pushpop-ends-'))
try {
  const rounds = await runEnds({
    rounds: Number(values.rounds),
    seed: Number(values.seed),
    folder,
    onRound({ signal, afterMs, brokenStarts, waiting, longestMs, lost }) {
      const broken = brokenStarts > 0 ? `, its start broken ${brokenStarts} times` : ''
      console.log(
        `${signal.padEnd(7)} after ${String(afterMs).padStart(4)} ms: ${String(waiting).padStart(2)} waiting${broken}; ` +
          `the last handled after ${longestMs} ms${lost.length > 0 ? `; LOST ${lost.join(' ')}` : ''}`,
      )
    },
  })
  const lost = rounds.flatMap((round) => round.lost).length
  const waiting = rounds.reduce((sum, round) => sum + round.waiting, 0)
  const longest = [...rounds.map(({ longestMs }) => longestMs)].sort((a, b) => a - b)
  console.log(
    `${rounds.length} ends, seed ${values.seed}: ${waiting} items waited, ${lost} not handled; the last of a round ` +
      `was handled after ${longest[longest.length >> 1]} ms (median), ${longest.at(-1)} ms (most)`,
  )
  process.exitCode = lost > 0 || (longest.at(-1) ?? 0) > LONGEST_MS_MAX ? 1 : 0
} finally {
  rmSync(folder, { recursive: true, force: true })
}
