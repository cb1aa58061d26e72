// Bundles a function's handler again, and prints which files went into the bundle. It is a separate process, because
// esbuild blocks the process that calls it. `node rebuild.ts '{"entry": …, "outdir": …, "bundling": …}'`

import { bundleFunction, ownFilesOf } from '../../lib/bundling/consumer-bundle.ts'
import { messageOf } from '../start-error.ts'
import type { RebuildRequest } from './watch-sources.ts'

const { entry, outdir, bundling, before } = JSON.parse(process.argv[2] ?? '{}') as RebuildRequest
try {
  process.stdout.write(JSON.stringify(ownFilesOf(bundleFunction(entry, outdir, bundling, before))))
} catch (error) {
  process.stderr.write(messageOf(error))
  process.exitCode = 1
}
