// The word beside the name of who is archived.
export function Archived({ is }: { is: boolean }) {
  if (!is) return null;
  return (
    <>
      {" "}
      <span class="pill" title="Left out of lists and rankings by an admin. Usage, weights and ranks stay as they are.">
        archived
      </span>
    </>
  );
}
