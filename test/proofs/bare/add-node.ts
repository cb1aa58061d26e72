// The Node and the npm of this machine, and how this machine reaches the registry.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { programOnPath } from '../../support/programs.ts'
import { user } from './make-root.ts'

const [bin, npmFolder] = ['usr/local/bin', 'usr/local/lib/node_modules/npm']

export function addNode(root: string): void {
  // Those that ran npm, not the Node 24 of this repository.
  const node = realpathSync(process.env.npm_node_execpath ?? process.execPath)
  const cli = realpathSync(process.env.npm_execpath ?? programOnPath('npm') ?? '')
  cpSync(node, join(root, bin, 'node'))
  for (const library of librariesOf(node)) {
    if (!existsSync(join(root, library))) copyAsIs(library, root)
  }
  rmSync(join(root, npmFolder), { recursive: true, force: true })
  cpSync(dirname(dirname(cli)), join(root, npmFolder), { recursive: true })
  for (const name of ['npm', 'npx']) {
    rmSync(join(root, bin, name), { force: true })
    symlinkSync(`/${npmFolder}/bin/${name}-cli.js`, join(root, bin, name))
  }
  addConfiguration(root, (name) =>
    execFileSync(node, [cli, 'config', 'get', name], {
      encoding: 'utf8',
      cwd: '/',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim(),
  )
}

/** "	libdl.so.2 => /lib/x86_64-linux-gnu/libdl.so.2 (0x…)" */
const librariesOf = (program: string): readonly string[] =>
  [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/ => (\/\S+)/g)].map(
    ([, path = '']) => path,
  )

function addConfiguration(root: string, setting: (name: string) => string): void {
  const files = [
    [setting('userconfig'), join(user.home, '.npmrc')],
    [setting('globalconfig'), '/usr/local/etc/npmrc'],
  ] as const
  for (const [from, to] of files) if (existsSync(from)) copyAsIs(from, root, to)
  const certificates = [setting('cafile'), ...Object.values(ofNetwork())]
  for (const path of new Set(certificates)) {
    if (isAbsolute(path) && existsSync(path)) copyAsIs(path, root)
  }
}

/** What the environment says about proxies, certificates and the registry. */
export function ofNetwork(): Record<string, string> {
  const isIt = /proxy$|_cert|ca_certs|ca_bundle|^npm_config_(.*registry|cafile|ca|strict_ssl)$/i
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      isIt.test(name) && value ? [[name, value]] : [],
    ),
  )
}

function copyAsIs(path: string, root: string, to = path): void {
  mkdirSync(dirname(join(root, to)), { recursive: true })
  cpSync(path, join(root, to), { recursive: true, dereference: true })
}
