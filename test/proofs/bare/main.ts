// `npm start` and `npm test` need Node and npm, and nothing else. This proves it: on Debian's or Ubuntu's smallest base,
// with the Node and the npm of this machine, as an ordinary user who has the files of the repository but no git.
//
//   node test/proofs/bare/main.ts [--root FOLDER] [TEST FILE …]
//
// It needs Linux, root's rights and debootstrap, and takes some ten minutes on two cores: the whole `npm test` runs
// once. With names of test files, only those run.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { SKIPPED } from '../../../scripts/nightly.ts'
import { programOnPath } from '../../support/programs.ts'
import { addNode } from './add-node.ts'
import { addRepository } from './add-repository.ts'
import { makeRoot } from './make-root.ts'
import { runInside } from './run-inside.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Kept, and used again by the next run. */
    root: { type: 'string' },
  },
})

// Those of the system are often not on the path of an ordinary user.
process.env.PATH += ':/usr/sbin:/sbin'
const missing = whatIsMissing()
process.exitCode = missing === undefined ? await prove() : skip(missing)

async function prove(): Promise<number> {
  const folder = values.root ?? mkdtempSync(join(tmpdir(), 'pushpop-bare-'))
  try {
    await makeRoot(folder)
    addNode(folder)
    addRepository(folder)
    return await runInside(folder, positionals)
  } finally {
    if (values.root === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

function skip(why: string): number {
  console.log(`skipped: cannot make a bare machine because ${why}`)
  return SKIPPED
}

function whatIsMissing(): string | undefined {
  if (process.platform !== 'linux') return `this is ${process.platform}, and it needs Linux`
  for (const name of ['debootstrap', 'apt-get', 'unshare', 'chroot', 'git']) {
    if (!programOnPath(name)) return `there is no ${name}; install it`
  }
  if (process.getuid?.() !== 0) return 'it needs root to change the root folder; run it by sudo'
  return undefined
}
