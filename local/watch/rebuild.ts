// A process of its own, because esbuild blocks the one that calls it: bundles the handler of a function again, and
// prints which files went into it. `node rebuild.ts '{"entry": …, "outdir": …, "bundling": …}'`

import { bundleFunction, ownFilesOf } from '../../lib/bundling/consumer-bundle.ts'
import { messageOf } from '../start-error.ts'
import type { RebuildRequest } from './run-rebuild.ts'

const { entry, outdir, bundling } = JSON.parse(process.argv[2] ?? '{}') as RebuildRequest
try {
  process.stdout.write(JSON.stringify(ownFilesOf(bundleFunction(entry, outdir, bundling))))
} catch (error) {
  process.stderr.write(messageOf(error))
  process.exitCode = 1
}
