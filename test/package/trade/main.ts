// A handler for each of the packages that people use, installed from the registry beside the packed package,
// bundled by it as a consumer's is, and started by a Node with nothing beside it.
//
//   node test/package/trade/main.ts [NAME …]

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { bundleFunction as BundleFunction } from '../../../lib/bundling/consumer-bundle.ts'
import { packInto, run } from '../a-project.ts'
import { beside, type Expected, packages, uses } from './packages.ts'

const names = process.argv.slice(2)
const chosen = Object.entries(packages).filter(
  ([name]) => names.length === 0 || names.includes(name),
)
const folder = mkdtempSync(join(tmpdir(), 'pushpop-trade-'))
try {
  process.exitCode = await main()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function main(): Promise<number> {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { pushpop } = await packInto(folder)
  const packed = join(folder, pushpop.filename)
  const wanted = [packed, 'esbuild', ...chosen.map(([name]) => name), ...beside]
  const installed = await run('npm', ['install', ...quietly, ...wanted], {
    cwd: folder,
    env: process.env,
  })
  if (installed.code !== 0) {
    console.log(`0 packages tried: npm cannot install them here\n${installed.stderr}`)
    return /ENOTFOUND|EAI_AGAIN|ECONNREFUSED/.test(installed.stderr) ? 0 : 1
  }
  // From the archive: beside this repository's own code, packages are found in other places than a user's are.
  const { bundleFunction } = await import(
    join(folder, 'node_modules/pushpop/dist/lib/bundling/consumer-bundle.js')
  )
  let failed = 0
  for (const [name, expected] of chosen) {
    const found = await outcome(name, bundleFunction)
    const isRight = isAsExpected(found, expected)
    if (!isRight) failed += 1
    console.log(`${isRight ? 'passed' : 'FAILED'}  ${name.padEnd(22)} ${found}`)
  }
  console.log(`${chosen.length} packages, ${failed} not as expected`)
  return failed === 0 ? 0 : 1
}

function isAsExpected(found: string, expected: Expected): boolean {
  return expected === 'starts' ? found.startsWith('starts') : found.includes(expected.refused)
}

async function outcome(name: string, bundleFunction: typeof BundleFunction): Promise<string> {
  const stem = name.replaceAll(/\W+/g, '_')
  const entry = join(folder, `${stem}.ts`)
  const made = join(folder, 'made', stem)
  const use = uses[name] ?? 'Object.keys(it)'
  writeFileSync(
    entry,
    `import * as it from '${name}'
     import { consumer } from 'pushpop/consumer'
     export const handler = consumer(() => {})
     export const used = ${use}`,
  )
  try {
    const { bytesAtStart } = bundleFunction(entry, made)
    const program = `
      const { handler, used } = await import('./index.mjs')
      if (typeof handler !== 'function' || used === undefined) throw new Error('not there')
      process.exit()`
    writeFileSync(join(made, 'program.mjs'), program)
    const { code, stderr } = await run(process.execPath, ['program.mjs'], { cwd: made })
    if (code !== 0) return `dies: ${/^\w*Error.*$/m.exec(stderr)?.[0].slice(0, 200) ?? code}`
    return `starts, with ${Math.round(bytesAtStart / 1024)} KB`
  } catch (error) {
    return `refused: ${(error as Error).message.replace(folder, '')}`
  }
}
