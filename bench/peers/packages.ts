// The peers' packages are not dependencies of ours: the first run installs them into a separate folder.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const folder = join(import.meta.dirname, 'packages')

export function installPackages(): void {
  if (existsSync(join(folder, 'node_modules/pg-boss'))) return
  execFileSync(
    'npm',
    ['install', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts'],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    },
  )
}

/** We name what we use of each package beside its use: their own types are not installed with ours. */
export const load = createRequire(join(folder, 'package.json')) as <T>(name: string) => T
