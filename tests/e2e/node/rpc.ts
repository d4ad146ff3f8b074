// SPDX-License-Identifier: Apache-2.0
// The generated client, compiled and run by node: argv is the server and a token.

import { ApiError, Client } from "./kairship_api.js";

declare const process: { argv: string[]; exit(code: number): never };

const [base, token] = process.argv.slice(2);
const client = new Client({ base, headers: { authorization: "Bearer " + token } });

async function main(): Promise<void> {
  try {
    await client.instance.listInstances({ page: 1.5 });
  } catch (e) {
    if (e instanceof ApiError && e.http === 400 && e.code === 3) return;
    throw e;
  }
  throw new Error("a page of 1.5 is taken");
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
