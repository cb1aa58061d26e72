// Where the dynoxide binary of a platform is, and which package brings it.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartError } from '../start-error.ts'

export type Platform = { readonly platform: string; readonly arch: string }

/** As dynoxide/package.json has them for this repository; a test compares the two. */
export const DYNOXIDE_VERSION = '1.2.1'
export const dynoxidePackages = [
  '@dynoxide/darwin-arm64',
  '@dynoxide/darwin-x64',
  '@dynoxide/linux-arm64',
  '@dynoxide/linux-x64',
  '@dynoxide/win32-x64',
] as const

const packageFor = ({ platform, arch }: Platform): string => `@dynoxide/${platform}-${arch}`

/** The package and version by which npm installs this platform's binary, if there is one. */
export function dynoxideToInstall(platform: Platform): string | undefined {
  const name = dynoxidePackages.find((one) => one === packageFor(platform))
  return name === undefined ? undefined : `${name}@${DYNOXIDE_VERSION}`
}

export function findDynoxide(platform: Platform): string | undefined {
  const require = createRequire(import.meta.url)
  try {
    const manifest = require.resolve(`${packageFor(platform)}/package.json`)
    const name = platform.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide'
    const binary = join(dirname(manifest), name)
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}

/** The same for callers that cannot work without it: throws if there is none. */
export function dynoxideOf(platform: Platform): string {
  const found = findDynoxide(platform)
  if (found !== undefined) return found
  const name = dynoxideToInstall(platform)
  // Optional for npm, so that the same project can be installed on another platform.
  const command = name === undefined ? '' : `Run npm install --save-optional ${name}. Or: `
  throw new StartError(
    `Cannot start the embedded DynamoDB because no @dynoxide binary is installed for ${platform.platform}-${platform.arch}. ` +
      `${command}Start DynamoDB Local 2.6.1 (3.x writes empty maps into its streams wrongly), or any other DynamoDB ` +
      'emulator, and set PUSHPOP_DYNAMODB_ENDPOINT to its address, for example ' +
      'PUSHPOP_DYNAMODB_ENDPOINT=http://127.0.0.1:8001',
  )
}
