import type { ExitCode } from './exit-codes.ts'
import { failed } from './failure.ts'
import { needNode } from './node-version.ts'

/**
 * What the stack on one machine takes beside the package. It does not come along, because whoever
 * pushes and pops needs none of it: it is 180 MB.
 */
const stores = ['@20minutes/s3rver']
const cdk = ['aws-cdk-lib', 'constructs']

/** Its options are those of `npm start`. */
export async function start(args: readonly string[]): Promise<ExitCode> {
  if (!args.includes('--help') && !args.includes('-h')) checkWhatItNeeds(args)
  const { startCommand } = await import('../lib/local/console/start-command.ts')
  return (await startCommand(args, 'pushpop start')) as ExitCode
}

function checkWhatItNeeds(args: readonly string[]): void {
  // Lambda's own, for which the functions are bundled, and what s3rver asks for.
  needNode('24.0', 'the stack on one machine')
  // An app of one's own finds the CDK by itself, where it is.
  const isOwnApp = args.some((arg) => arg === '--app' || arg.startsWith('--app='))
  const missing = [...stores, ...(isOwnApp ? [] : cdk)].filter((name) => !isInstalled(name))
  if (missing.length > 0) {
    throw failed(
      'Cannot start because the stack on one machine needs packages that are not installed: ' +
        `npm install --save-dev ${missing.join(' ')}`,
    )
  }
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
