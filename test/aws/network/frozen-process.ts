// The process that is frozen and thawed: it makes the calls when its parent says so.

import { type FirstCallsSetting, openFirstCalls } from './first-calls.ts'

export type Order = {
  readonly what: 'beforePause' | 'afterPause' | 'faultsAfter'
  readonly round: number
}

const setting = JSON.parse(process.argv[2] ?? '{}') as FirstCallsSetting
let pauses = 0
// A pause takes a millisecond at least, however quick the machine is.
const calls = openFirstCalls(setting, () => Date.now() + pauses)

process.on('message', ({ what, round }: Order) => {
  if (what === 'afterPause') pauses += 1
  calls[what](round).then((answer) => process.send?.(answer ?? []))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
