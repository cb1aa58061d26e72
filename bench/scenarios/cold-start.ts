// The computing time of a cold start: importing a bundle, which constructs its clients and the engine, in a
// fresh process each time. Compared, in turns, with a handler that has only the DynamoDB client, bundled with the
// same options; and with the push function on the SDK's client. Also how much is loaded: the bytes of each bundle.

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { bundleFunction } from '../../lib/bundling/consumer-bundle.ts'
import type { Scenario } from '../bench.ts'
import { quantile } from '../load.ts'
import { atMost, type Row, rowsOf } from '../rows.ts'

const RUNS = 20
const KILOBYTE = 1024

const handlers = join(import.meta.dirname, '../../lambdas/handlers')
const entries = {
  bare: join(import.meta.dirname, '../baselines/bare-handler.ts'),
  push: join(handlers, 'push.ts'),
  pop: join(handlers, 'pop.ts'),
  'push on the SDK': join(import.meta.dirname, '../baselines/push-on-sdk.ts'),
} as const
type Name = keyof typeof entries

export const coldStart: Scenario = {
  name: 'cold-start',
  title: 'cold start: import and construct in a fresh process',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const folder = await mkdtemp(join(tmpdir(), 'pushpop-cold-start-'))
    try {
      const bundles = Object.entries(entries).map(([name, entry]) => {
        const outdir = join(folder, name)
        return {
          name: name as Name,
          outdir,
          bundle: bundleFunction(entry, outdir, { sourceMap: false }),
        }
      })
      const times = new Map<Name, number[]>(bundles.map(({ name }) => [name, []]))
      const runs = bench.quick ? 5 : RUNS
      // The first round reads the files from the disk, so we do not count it.
      for (let run = 0; run <= runs; run += 1) {
        bench.progress(`cold start ${run} of ${runs}`)
        for (const { name, outdir } of bundles) {
          const ms = await startOnce(outdir)
          if (run > 0) times.get(name)?.push(ms)
        }
      }
      const medianMs = (name: Name) => quantile(times.get(name) ?? [], 0.5)
      const rows: Row[] = [info('bare DynamoDB client, ms', medianMs('bare'))]
      for (const { name, bundle } of bundles) {
        if (name === 'bare') continue
        const times = medianMs(name) / medianMs('bare')
        const metric = `${name}: times the bare client`
        rows.push(
          name === 'push on the SDK'
            ? info(metric, times)
            : bar(metric, times, atMost(1.15), { aim: atMost(0.7) }),
          info(`${name}: ms`, medianMs(name)),
          info(`${name}: KB at the start`, bundle.bytesAtStart / KILOBYTE),
          info(`${name}: KB when first needed`, bundle.bytesLazy / KILOBYTE),
        )
      }
      return rows
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

const run = promisify(execFile)

async function startOnce(outdir: string): Promise<number> {
  const url = pathToFileURL(join(outdir, 'index.mjs')).href
  const script = `const from = performance.now(); await import(${JSON.stringify(url)}); console.log(performance.now() - from); process.exit()`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    env: {
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'bench',
      AWS_SECRET_ACCESS_KEY: 'bench',
      PUSHPOP_TABLE: 'table',
      PUSHPOP_BUCKET: 'bucket',
    },
  })
  return Number(stdout)
}
