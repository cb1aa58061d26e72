// Ctrl-C: the first asks a command to end and leave nothing behind, the second ends it at once.

import { SAME_SIGNAL_MS } from '../local/terminal/same-signal.ts'
import { exitCodes } from './exit-codes.ts'

type Emitter = {
  on(name: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void): unknown
  exit(code: number): void
}

export function watchForInterrupt(process: Emitter): AbortSignal {
  const controller = new AbortController()
  let firstMs = 0
  const end = () => {
    if (!controller.signal.aborted) {
      firstMs = performance.now()
      controller.abort()
    } else if (performance.now() - firstMs > SAME_SIGNAL_MS) {
      process.exit(exitCodes.interrupted)
    }
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, end)
  return controller.signal
}
